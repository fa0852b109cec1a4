// SPDX-License-Identifier: MIT OR Apache-2.0
// Small things that every section uses: numbers with units, terms that explain
// themselves, names that may hold anything, and the tooltip.
import {type ComponentChildren, type JSX} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import {type Quantity} from "../format";
import {type Report} from "../data/report";

/** A number whose unit lines up with those of the rows above and below. */
export function Num({q}: {q: Quantity}): JSX.Element {
    return (
        <span class="num">
            <span class="num-value">{q.value}</span>
            <span class="num-unit">{q.unit}</span>
        </span>
    );
}

/** Goes to a section, with the keyboard's focus. */
export function jump(id: string): void {
    const el = document.getElementById(id);
    el?.scrollIntoView();
    el?.focus({preventScroll: true});
}

export function Jump({to, children, ...rest}: {to: string; children: ComponentChildren; class?: string}): JSX.Element {
    return <a href={`#${to}`} {...rest} onClick={(e) => { e.preventDefault(); jump(to); }}>{children}</a>;
}

/** A word with an explanation on hover and on focus. */
export function Term({tip, children}: {tip: string; children: ComponentChildren}): JSX.Element {
    return (
        <span class="term" tabIndex={0} data-tip={tip}>
            {children}
            <span class="sr">: {tip}</span>
        </span>
    );
}

/** A name from the run: text that may run either way, cut by the layout. */
export function Name({report, id, max}: {report: Report; id: number; max?: number}): JSX.Element {
    const text = report.label(id);
    const shown = max && text.length > max ? text.slice(0, max - 1) + "…" : text;
    return <bdi class="name" data-tip={text.length > 40 ? text : undefined}>{shown}</bdi>;
}

export function Bar({share, label}: {share: number; label?: string}): JSX.Element {
    const width = `${Math.max(0, Math.min(100, share * 100)).toFixed(2)}%`;
    return (
        <span class="bar" aria-hidden="true" data-tip={label}>
            <span style={{width}} />
        </span>
    );
}

export function Section(props: {id: string; title: string; note?: ComponentChildren; children: ComponentChildren; class?: string}): JSX.Element {
    return (
        <section id={props.id} class={`section ${props.class ?? ""}`} aria-labelledby={`${props.id}-title`} tabIndex={-1}>
            <div class="section-head">
                <h2 id={`${props.id}-title`}>{props.title}</h2>
                {props.note && <p class="note">{props.note}</p>}
            </div>
            {props.children}
        </section>
    );
}

/** The width of an element, as it changes. */
export function useWidth<E extends HTMLElement>(start: number): [{current: E | null}, number] {
    const ref = useRef<E>(null);
    const [width, setWidth] = useState(start);
    useEffect(() => {
        const o = new ResizeObserver(() => ref.current && setWidth(Math.max(200, Math.round(ref.current.clientWidth))));
        if (ref.current) o.observe(ref.current);
        return () => o.disconnect();
    }, []);
    return [ref, width];
}

/** Copies text, also where the page has no clipboard of its own. */
export async function copyText(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = document.createElement("textarea");
        area.value = text;
        document.body.append(area);
        area.select();
        const ok = document.execCommand("copy");
        area.remove();
        return ok;
    }
}

/** One tooltip for every element with data-tip, for pointer and focus alike. */
export function Tooltip(): JSX.Element {
    const [tip, setTip] = useState<{text: string; x: number; y: number; above: boolean} | null>(null);
    const shownFor = useRef<Element | null>(null);
    useEffect(() => {
        const show = (e: Event): void => {
            const at = e.target as Element | null;
            // the keyboard stops at the button around a name
            const el = at?.closest?.("[data-tip]") ?? (at?.matches?.("button, a") ? at.querySelector("[data-tip]") : null);
            if (el !== shownFor.current && (el || !isFocused())) place(el);
        };
        const isFocused = (): boolean => {
            const el = shownFor.current, at = document.activeElement;
            return !!el && !!at && at !== document.body && (el.contains(at) || at.contains(el));
        };
        const place = (el: Element | null): void => {
            shownFor.current = el;
            const text = el?.getAttribute("data-tip");
            if (!el || !text) return setTip(null);
            const box = el.getBoundingClientRect();
            const above = box.bottom > innerHeight - 110;
            setTip({text, x: Math.max(8, Math.min(innerWidth - 330, box.left)), y: above ? box.top - 6 : box.bottom + 6, above});
        };
        const hide = (): void => place(null);
        // Focus that scrolls the page keeps its explanation.
        const move = (): void => place(isFocused() ? shownFor.current : null);
        document.addEventListener("mouseover", show);
        document.addEventListener("focusin", show);
        document.addEventListener("focusout", hide);
        addEventListener("scroll", move, true);
        return () => {
            document.removeEventListener("mouseover", show);
            document.removeEventListener("focusin", show);
            document.removeEventListener("focusout", hide);
            removeEventListener("scroll", move, true);
        };
    }, []);
    if (!tip) return <div class="tip" hidden />;
    return (
        <div class="tip" role="tooltip" style={{left: `${tip.x}px`, top: tip.above ? "auto" : `${tip.y}px`, bottom: tip.above ? `${innerHeight - tip.y}px` : "auto"}}>
            {tip.text}
        </div>
    );
}
