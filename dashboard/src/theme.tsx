// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system has it, until somebody chooses.
import { useEffect, useState } from "preact/hooks";

const KEY = "cuco-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function isDark(): boolean {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === "dark" : system.matches;
}

function apply(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}
apply();
system.addEventListener("change", apply);

/** True in the dark; whoever draws on a canvas draws again when it changes. */
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark());
  useEffect(() => {
    const changed = () => setDark(isDark());
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return dark;
}

/** A colour of the style sheet, for canvases. */
export const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function ThemeButton() {
  const dark = useDark();
  const toggle = () => {
    localStorage.setItem(KEY, dark ? "light" : "dark");
    apply();
  };
  return (
    <button type="button" class="plain" onClick={toggle} aria-label={dark ? "Use light colours" : "Use dark colours"}
            title={dark ? "Light" : "Dark"}>{dark ? "☀" : "☾"}</button>
  );
}
