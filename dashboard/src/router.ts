// SPDX-License-Identifier: Apache-2.0
// Addresses are real paths: they can be bookmarked and sent, and the server gives the same page for all of them.
import { useEffect, useState } from "preact/hooks";

const listeners = new Set<() => void>();

export function go(path: string, replace = false): void {
  if (path === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  for (const listener of listeners) listener();
}

window.addEventListener("popstate", () => {
  for (const listener of listeners) listener();
});

// Links of the page itself change the page without loading it anew.
document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest?.("a");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
  if (link.pathname.startsWith("/api/") || link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
  window.scrollTo(0, 0);
});

export function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const changed = () => setPath(location.pathname);
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return path;
}
