/** A JSON value as the client wrote it. */
export type RawJson = string;
/** Content of a JSON string as the client wrote it: with its escapes, without its quotes. */
export type RawText = string;

/**
 * A request in the form that all protocols share. Readers create it from the body of a client, writers write the body for a provider from
 * it. Texts, schemas, arguments and inputs of tools stay as they were written.
 */
export interface Conversation {
  /** Instructions before the first turn. */
  readonly system: readonly TextBlock[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
  /** Whether the model may call several tools at once; `null`: not stated. */
  readonly parallelCalls: boolean | null;
  readonly turns: readonly Turn[];
  /** Member of the client's body with the turns. */
  readonly turnsPath: 'messages' | 'input';
  readonly settings: Settings;
  readonly isStream: boolean;
  /** Whether the client asks for usage at the end of a stream. Only chat clients do. */
  readonly reportsUsage: boolean;
  /** Optional members that only some providers take, by the names of their members. */
  readonly hints: ReadonlyMap<string, Hint>;
}

export interface Turn {
  /** `system`: instructions after the first turn. */
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: readonly Block[];
  /** Path of the turn in the client's body. */
  readonly path: string;
}

export type Block = TextBlock | MediaBlock | ReasoningBlock | CallBlock | ResultBlock | RefusalBlock;

export interface TextBlock {
  readonly kind: 'text';
  readonly text: RawText;
  /** The `cache_control` of the block; `null`: none. */
  readonly cache: RawJson | null;
}

export interface MediaBlock {
  readonly kind: 'media';
  readonly type: 'image' | 'pdf';
  readonly source: { readonly base64: RawText; readonly mediaType: string } | { readonly url: RawText };
  /** Name or title of a file; `null`: none. */
  readonly name: RawText | null;
  /** Detail of an image at chat and responses providers. */
  readonly detail: RawJson | null;
  readonly cache: RawJson | null;
  readonly path: string;
}

export interface ReasoningBlock {
  readonly kind: 'reasoning';
  /** Text that the client has; `null`: the carrier has it, or nobody. */
  readonly text: RawText | null;
  /** The opaque field of the client's form, decoded; `null`: none. */
  readonly carrier: string | null;
}

export interface CallBlock {
  readonly kind: 'call';
  readonly id: string;
  readonly form: ToolForm;
  readonly name: string;
  /** The namespace of a responses tool; `null`: none. */
  readonly namespace: string | null;
  /** Arguments as JSON text, such as `{"path":"a.ts"}`; any text for a custom tool, or if a model wrote no valid JSON. */
  readonly input: string;
  readonly cache: RawJson | null;
  readonly path: string;
}

export interface ResultBlock {
  readonly kind: 'result';
  readonly callId: string;
  readonly isError: boolean;
  readonly content: readonly (TextBlock | MediaBlock)[];
  readonly cache: RawJson | null;
  readonly path: string;
}

/** The model's words where it refused to answer. */
export interface RefusalBlock {
  readonly kind: 'refusal';
  readonly text: RawText;
}

/** How a client writes calls of a tool. `shell` and `search`: `local_shell` and `tool_search` of responses clients. */
export type ToolForm = 'function' | 'custom' | 'shell' | 'search';

export interface Tool {
  readonly form: ToolForm;
  readonly name: string;
  /** The namespace of a responses tool; `null`: none. */
  readonly namespace: string | null;
  readonly description: RawText | null;
  /** JSON schema of the arguments; `null`: none. */
  readonly schema: RawJson | null;
  /** Grammar of the text that a custom tool takes; `null`: none. */
  readonly format: RawJson | null;
  readonly strict: boolean | null;
  readonly cache: RawJson | null;
  readonly path: string;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string };

export interface Settings {
  /** The output limit as it was written, and the path of its member; `null`: none. */
  readonly outputTokens: { readonly value: number; readonly path: string } | null;
  readonly temperature: RawJson | null;
  readonly topP: RawJson | null;
  /** Stop sequences as JSON strings. */
  readonly stop: readonly RawJson[];
  readonly reasoning: ReasoningSettings;
  readonly format: OutputFormat | null;
}

export interface ReasoningSettings {
  /** An effort by its common name, such as `low` or `xhigh`; `null`: not stated. */
  readonly effort: string | null;
  /** Whether the model reasons; `null`: not stated. */
  readonly isOn: boolean | null;
  /** Maximum tokens of reasoning; `null`: none. */
  readonly budgetTokens: number | null;
  /** Whether the client wants to read the reasoning. Otherwise only the carrier has it. */
  readonly isShown: boolean;
}

export type OutputFormat =
  | { readonly type: 'object'; readonly path: string }
  | {
      readonly type: 'schema';
      readonly name: RawText;
      readonly schema: RawJson;
      readonly description: RawText | null;
      readonly strict: boolean | null;
      readonly path: string;
    };

/** An optional member: where the client wrote it, and its value. */
export interface Hint {
  readonly path: string;
  readonly value: RawJson;
}
