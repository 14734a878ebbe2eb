import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter } from '@codemirror/lint';
import { Compartment, EditorState, type Extension, type Text } from '@codemirror/state';
import { type Command, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import type { CheckedCatalog } from '../../api/types.ts';
import { useTexts } from '../../text/language.tsx';
import type { Proposals } from './completions.ts';
import { editorTexts } from './editor-texts.ts';

export interface CodeEditorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly isReadOnly: boolean;
  readonly propose: (text: string, offset: number) => Proposals | null;
  /** Checks a text some time after a change. */
  readonly check: (text: string) => Promise<CheckedCatalog['problems']>;
  /** Selects a line. Another object selects it again. */
  readonly selected: { readonly line: number } | null;
}

const CHECK_DELAY_MS = 800;

/** An editor of YAML. Tab leaves it, as it leaves any other field. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, value, isReadOnly, selected } = props;
  const phrases = useTexts(editorTexts);
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  // The view outlives renders, so it reads the newest functions here.
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: changes are applied below
  useEffect(() => {
    const state = EditorState.create({ doc: value, extensions: [...EXTENSIONS, ofProps(latest), changing.of([])] });
    view.current = new EditorView({ state, parent: parent.current! });
    return () => view.current?.destroy();
  }, []);
  useEffect(() => {
    view.current?.dispatch({
      effects: changing.reconfigure([
        EditorState.phrases.of(phrases),
        EditorState.readOnly.of(isReadOnly),
        EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': String(isReadOnly) }),
      ]),
    });
  }, [phrases, label, isReadOnly]);
  useEffect(() => {
    const shown = view.current!.state.doc.toString();
    if (shown !== value) view.current!.dispatch({ changes: { from: 0, to: shown.length, insert: value } });
  }, [value]);
  useEffect(() => {
    if (selected !== null) selectLine(view.current!, selected.line);
  }, [selected]);
  return <div ref={parent} />;
}

const changing = new Compartment();

function ofProps(latest: { readonly current: CodeEditorProps }): Extension {
  return [
    EditorView.updateListener.of(({ docChanged, state }) => {
      const text = state.doc.toString();
      if (docChanged && text !== latest.current.value) latest.current.onChange(text);
    }),
    autocompletion({
      override: [(context) => completionOf(context, latest.current.propose)],
      icons: false,
    }),
    linter(
      async ({ state }) => {
        const { isReadOnly, check } = latest.current;
        if (isReadOnly) return [];
        const problems = await check(state.doc.toString());
        return problems.map((problem) => diagnosticOf(problem, state.doc));
      },
      { delay: CHECK_DELAY_MS },
    ),
  ];
}

function completionOf(
  { state, pos, explicit }: CompletionContext,
  propose: CodeEditorProps['propose'],
): CompletionResult | null {
  const found = propose(state.doc.toString(), pos);
  // Without a request, an empty word proposes nothing: Enter must begin a new line.
  if (found === null || (!explicit && found.from === pos)) return null;
  const options = found.proposals.map(({ isRequired, ...proposal }, index) => ({
    ...proposal,
    // The order is that of the schema, with required members first.
    boost: (isRequired === true ? 50 : 0) - index / found.proposals.length,
  }));
  return { from: found.from, options, validFor: /^[^\s:,]*$/ };
}

/** A problem without a line is shown at the first one. */
function diagnosticOf({ line, key, message }: CheckedCatalog['problems'][number], doc: Text): Diagnostic {
  const { from, text } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const start = from + text.search(/\S|$/);
  return {
    from: start,
    to: from + text.length,
    severity: 'error',
    message: key === '' ? message : `${key}: ${message}`,
  };
}

/** Begins a line below a key, which the language does not indent. */
const indentBelowKey: Command = ({ state, dispatch }) => {
  const { head, empty } = state.selection.main;
  const line = state.doc.lineAt(head);
  const before = line.text.slice(0, head - line.from);
  if (!empty || !/^[^#]*:\s*$/.test(before)) return false;
  const column = /^(?:\s|-\s)*/.exec(before)![0].length + state.facet(indentUnit).length;
  const text = state.lineBreak + ' '.repeat(column);
  dispatch(state.update(state.replaceSelection(text), { scrollIntoView: true, userEvent: 'input' }));
  return true;
};

/** Replaces a selection itself. The browser would keep the style of the replaced text inline, which the policy of the page refuses. */
const replaceSelected = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state, composing } = view;
    const { from, to, empty } = state.selection.main;
    if (event.inputType !== 'insertText' || event.data === null || empty || composing) return false;
    const { data } = event;
    const replaced = () =>
      state.update(state.replaceSelection(data), { scrollIntoView: true, userEvent: 'input.type' });
    const handlers = state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, replaced))) view.dispatch(replaced());
    event.preventDefault();
    return true;
  },
});

function selectLine(view: EditorView, line: number): void {
  const { from, to } = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
  view.focus();
}

const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';

/** Contrast of at least 4.5 to 1 on the backgrounds of both themes. */
const colors = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: 'light-dark(#0b4a8f, #8ec8ff)' },
  { tag: tags.string, color: 'light-dark(#1b5e3a, #8fd6a8)' },
  { tag: tags.comment, color: 'var(--mantine-color-dimmed)' },
  { tag: [tags.keyword, tags.typeName, tags.labelName], color: 'light-dark(#8a4200, #ffb680)' },
]);

const appearance = EditorView.theme({
  '&': {
    height: '36rem',
    maxHeight: '75vh',
    fontSize: 'var(--mantine-font-size-sm)',
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    border: '1px solid var(--mantine-color-default-border)',
    borderRadius: 'var(--mantine-radius-default)',
    overflow: 'hidden',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--mantine-color-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-gutters': {
    color: 'var(--mantine-color-dimmed)',
    backgroundColor: 'var(--mantine-color-body)',
    border: 'none',
  },
  '.cm-activeLine': { backgroundColor: 'light-dark(rgb(0 0 0 / 3%), rgb(255 255 255 / 4%))' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'light-dark(#cfe5f5, #24465c)',
  },
  '.cm-tooltip': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    border: '1px solid var(--mantine-color-default-border)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    maxWidth: 'min(700px, 90vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    color: 'var(--mantine-color-text)',
    backgroundColor: 'light-dark(#cfe5f5, #24465c)',
  },
  // The library draws problems with images in its styles, which the policy of the page does not load.
  '.cm-lintRange-error, .cm-lintRange-error:hover': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy light-dark(#c92a2a, #ff8787)',
  },
  '.cm-lint-marker-error': { content: 'normal', color: 'light-dark(#c92a2a, #ff8787)', lineHeight: '1' },
  '.cm-lint-marker-error::before': { content: '"●"' },
  '.cm-completionDetail': { fontStyle: 'normal', color: 'inherit' },
  '.cm-tooltip.cm-completionInfo': { maxWidth: 'min(300px, 80vw)' },
});

const EXTENSIONS: readonly Extension[] = [
  EditorView.cspNonce.of(styleNonce),
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  bracketMatching(),
  closeBrackets(),
  yaml(),
  indentUnit.of('  '),
  syntaxHighlighting(colors),
  appearance,
  EditorView.contentAttributes.of({ spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off', tabindex: '0' }),
  replaceSelected,
  keymap.of([
    ...completionKeymap,
    { key: 'Enter', run: indentBelowKey },
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...historyKeymap,
  ]),
];
