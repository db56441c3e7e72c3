// SPDX-License-Identifier: Apache-2.0
// Something that is asked from the server: it is on its way, there, or there is a problem.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

export type Loaded<T> = { value?: T; problem?: string };

export function useLoaded<T>(load: () => Promise<T>, key: string, everyMs = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({});
  useEffect(() => {
    let current = true;
    const ask = () =>
      load().then(
        (value) => current && setLoaded({ value }),
        (error: Error) => current && setLoaded((before) => ({ ...before, problem: error.message })),
      );
    setLoaded({});
    void ask();
    const timer = everyMs > 0 ? setInterval(ask, everyMs) : undefined;
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [key]);
  return loaded;
}

export function Show<T>({ of, children }: { of: Loaded<T>; children: (value: T) => ComponentChildren }): JSX.Element {
  return (
    <>
      {of.problem && <ProblemNote text={of.problem} />}
      {of.value !== undefined ? children(of.value) : !of.problem && <p class="soft" role="status">Loading …</p>}
    </>
  );
}

export const ProblemNote = ({ text }: { text: string }) => (
  <div class="problem" role="alert"><b>That did not work.</b> {text} <a href="/">All runs</a></div>
);

export const Empty = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <div class="empty"><h2>{title}</h2>{children}</div>
);
