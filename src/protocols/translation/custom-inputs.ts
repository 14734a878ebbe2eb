import { type AnswerBlocks, AnswerError, type AnswerHead, type EndReason, type OpaqueReasoning } from './answer.ts';
import type { RawText } from './conversation.ts';
import type { ToolNames } from './names.ts';
import { fromRawText, toRawText } from './raw-text.ts';

/**
 * Turns calls of custom tools, which a provider knows as functions with one argument `input`, back into their text. The text is passed on as
 * it arrives. Calls of functions without arguments get an empty object.
 */
export class CustomInputs implements AnswerBlocks {
  readonly #blocks: AnswerBlocks;
  readonly #offered: ToolNames;
  #input: CustomInput | null = null;
  /** Whether the open block is a call of a function without any arguments yet. */
  #lacksArguments = false;

  constructor(blocks: AnswerBlocks, names: ToolNames) {
    this.#blocks = blocks;
    this.#offered = names;
  }

  get keptBytes(): number {
    return this.#input?.keptLength ?? 0;
  }

  begin(head: AnswerHead): void {
    this.#blocks.begin(head);
  }

  startText(): void {
    this.#blocks.startText();
  }

  startReasoning(): void {
    this.#blocks.startReasoning();
  }

  startRefusal(): void {
    this.#blocks.startRefusal();
  }

  startCall(id: string, name: string): void {
    if (this.#offered.find(name)?.form === 'custom') this.#input = new CustomInput();
    else this.#lacksArguments = true;
    this.#blocks.startCall(id, name);
  }

  delta(text: RawText): void {
    const inner = this.#input === null ? text : this.#input.add(text);
    if (inner === '') return;
    this.#lacksArguments = false;
    this.#blocks.delta(inner);
  }

  stop(opaque: OpaqueReasoning | null): void {
    // Clients parse the arguments of functions, and an empty text is no JSON.
    const rest = this.#input?.rest() ?? (this.#lacksArguments ? '{}' : '');
    this.#input = null;
    this.#lacksArguments = false;
    if (rest !== '') this.#blocks.delta(rest);
    this.#blocks.stop(opaque);
  }

  end(reason: EndReason, stopSequence: RawText | null): void {
    this.#blocks.end(reason, stopSequence);
  }
}

/** Beginning of the arguments, up to the text. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
const HEAD_LENGTH_MAX = 64;
/** Maximum length of arguments of another form, which are only passed on at their end. */
const KEPT_LENGTH_MAX = 1024 * 1024;

/** Finds the string `input` in arguments that arrive in pieces. Its escapes are those of the text that is passed on. */
class CustomInput {
  /** Arguments that were not passed on, decoded. */
  #kept = '';
  #state: 'head' | 'inside' | 'behind' | 'other' = 'head';

  get keptLength(): number {
    return this.#kept.length;
  }

  /** @throws AnswerError if arguments of another form are too long */
  add(raw: RawText): string {
    if (this.#state === 'behind') return '';
    this.#kept += fromRawText(raw);
    if (this.#kept.length > KEPT_LENGTH_MAX) throw new AnswerError('the input of a custom tool has another form');
    if (this.#state === 'head') {
      const head = HEAD.exec(this.#kept);
      if (head !== null) {
        this.#state = 'inside';
        this.#kept = this.#kept.slice(head[0].length);
      } else if (this.#kept.length > HEAD_LENGTH_MAX) {
        this.#state = 'other';
      }
    }
    return this.#state === 'inside' ? this.#takeInside() : '';
  }

  /** What is left at the end: arguments of another form, as text. */
  rest(): RawText {
    if (this.#state === 'inside' || this.#state === 'behind') return '';
    return toRawText(this.#textOf(this.#kept));
  }

  #takeInside(): string {
    const kept = this.#kept;
    let at = 0;
    while (at < kept.length && kept[at] !== '"') {
      if (kept[at] !== '\\') {
        at++;
        continue;
      }
      const end = at + (kept[at + 1] === 'u' ? 6 : 2);
      if (end > kept.length) break;
      at = end;
    }
    if (kept[at] === '"') this.#state = 'behind';
    this.#kept = this.#state === 'behind' ? '' : kept.slice(at);
    return controlsEscaped(kept.slice(0, at));
  }

  #textOf(args: string): string {
    try {
      const value: unknown = JSON.parse(args);
      if (typeof value === 'string') return value;
      if (typeof value === 'object' && value !== null && 'input' in value && typeof value.input === 'string') {
        return value.input;
      }
    } catch {
      // The arguments are no JSON, so they are the text.
    }
    return args;
  }
}

/** Escapes control characters, which a model may write into a JSON string, and halves of characters that UTF-8 cannot express. */
function controlsEscaped(text: string): RawText {
  return text.replace(ESCAPED, toRawText);
}

const ESCAPED = /[\p{Cc}\p{Surrogate}]/gu;
