import { FILE, GREETING, type ReportedUsage } from './said.ts';

/** Requests to and answers of providers that speak chat or messages, as far as a scripted model reads and writes them. */

export interface AskedTool {
  readonly name: string;
  readonly schema: { readonly properties?: Readonly<Record<string, unknown>> };
}

/** A call of a tool in an answer. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** A turn that the model wrote. */
export interface Turn {
  readonly call: number;
  readonly model: string;
  readonly usage: ReportedUsage;
  /** Empty if the model does not reason. */
  readonly reasoning: string;
  readonly signature: string;
  readonly text: string;
  readonly uses: readonly ToolUse[];
}

/** `search`: look for tools that the agent did not declare at once. `found`: call one of them. */
export type Work =
  | { readonly kind: 'read' | 'look'; readonly file: string }
  | { readonly kind: 'write' | 'search' | 'found' };

/** The parts of a provider's request that the model reads. Both protocols have other names for them. */
export interface ChatBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly thinking?: { readonly type: string };
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly parameters: AskedTool['schema'] };
  }[];
  readonly messages: readonly ChatMessage[];
}

export interface ChatMessage {
  readonly role: string;
  readonly content: string | null | readonly ContentPart[];
  readonly reasoning_content?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string }[];
}

export interface ContentPart {
  readonly type: string;
  readonly id?: string;
  readonly text?: string;
  readonly tool_use_id?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly content?: string | readonly ContentPart[];
  readonly image_url?: { readonly url: string; readonly detail?: string };
}

export interface MessagesBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly thinking?: { readonly type: string };
  readonly tools?: readonly { readonly name: string; readonly input_schema: AskedTool['schema'] }[];
  readonly messages: readonly { readonly role: string; readonly content: readonly ContentPart[] }[];
}

/** A request as the model reads it. */
export interface Asked {
  readonly model: string;
  readonly isStream: boolean;
  readonly reportsUsage: boolean;
  readonly tools: readonly AskedTool[];
  /** Ids of the calls that have results. */
  readonly results: readonly string[];
  /** Whether the model may reason. */
  readonly reasons: boolean;
  /** Number of images. */
  readonly pictures: number;
  /** Turns of the model with calls: the id of the first call, and the reasoning that came back; `null`: none. */
  readonly turns: readonly {
    readonly id: string;
    readonly reasoning: string | null;
    readonly signature: string | null;
  }[];
}

export function readChat({ model, stream, stream_options, thinking, tools = [], messages }: ChatBody): Asked {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly ContentPart[]) : []));
  return {
    model,
    isStream: stream === true,
    reportsUsage: stream_options?.include_usage === true,
    tools: tools.map(({ function: { name, parameters } }) => ({ name, schema: parameters })),
    reasons: thinking?.type !== 'disabled',
    results: messages.flatMap(({ tool_call_id }) => tool_call_id ?? []),
    pictures: parts.filter(({ type }) => type === 'image_url').length,
    turns: messages.flatMap(({ tool_calls = [], reasoning_content = null }) =>
      tool_calls.length === 0 ? [] : [{ id: tool_calls[0]!.id, reasoning: reasoning_content, signature: null }],
    ),
  };
}

export function readMessages({ model, stream, thinking, tools = [], messages }: MessagesBody): Asked {
  const blocks = messages.flatMap(({ content }) => content);
  const inner = blocks.flatMap(({ content }) => (Array.isArray(content) ? (content as readonly ContentPart[]) : []));
  return {
    model,
    isStream: stream === true,
    reportsUsage: true,
    tools: tools.map(({ name, input_schema }) => ({ name, schema: input_schema })),
    reasons: thinking !== undefined && thinking.type !== 'disabled',
    results: blocks.flatMap(({ tool_use_id }) => tool_use_id ?? []),
    pictures: [...blocks, ...inner].filter(({ type }) => type === 'image').length,
    turns: messages.flatMap(({ content }) => {
      const use = content.find(({ type }) => type === 'tool_use');
      const thought = content.find(({ type }) => type === 'thinking');
      if (use === undefined) return [];
      return [{ id: use.id!, reasoning: thought?.thinking ?? null, signature: thought?.signature ?? null }];
    }),
  };
}

/** Names of tools for each kind of work, of all agents. */
const TOOLS = {
  read: ['Read', 'read_file', 'read', 'exec_command'],
  look: ['Read', 'read_file', 'read', 'view_image'],
  write: ['Write', 'write_file', 'write', 'apply_patch', 'exec_command'],
} as const;

/** The tool of Codex that runs JavaScript, which calls all others. */
const SCRIPT = 'functions__exec';

/** Calls by which Codex starts another agent and waits for it. */
const SUBAGENT = [
  {
    name: 'collaboration__spawn_agent',
    input: { task_name: 'helper', message: 'Say hello.', fork_turns: 'none' },
  },
  { name: 'collaboration__wait_agent', input: { timeout_ms: 30_000 } },
];
/** In the first message to such an agent. */
export const SUBAGENT_TASK = 'Message Type: NEW_TASK';

/** Calls of tools that the agent offers, with ids that begin with a prefix. */
export function usesFor(
  works: readonly Work[],
  prefix: string,
  { tools }: Asked,
  directory: string,
): readonly ToolUse[] {
  if (works.length === 0) return [];
  if (tools.some(({ name }) => name === SCRIPT)) {
    const input = works
      .filter(({ kind }) => !(kind in SEARCHED))
      .map((work) => scriptFor(work, directory))
      .join('\n');
    const script = { id: `${prefix}_0`, name: SCRIPT, input: { input } };
    if (!works.some(({ kind }) => kind === 'found')) return [script];
    return [script, ...SUBAGENT.map((use, place) => ({ id: `${prefix}_${place + 1}`, ...use }))];
  }
  const able = works.filter(({ kind }) => !(kind in SEARCHED) || tools.some(({ name }) => name === SEARCHED[kind]));
  return able.map((work, place) => ({ id: `${prefix}_${place}`, ...useFor(work, tools, directory) }));
}

/** Tools of Codex: the search for deferred tools, and one that it finds. */
const SEARCHED: Readonly<Record<string, string>> = { search: 'tool_search', found: 'multi_agent_v1__close_agent' };
const SEARCHED_INPUT = { search: { query: 'close agent', limit: 8 }, found: { target: 'nobody' } };

function useFor(work: Work, tools: readonly AskedTool[], directory: string): Omit<ToolUse, 'id'> {
  if (work.kind === 'search' || work.kind === 'found') {
    return { name: SEARCHED[work.kind]!, input: SEARCHED_INPUT[work.kind] };
  }
  const tool = TOOLS[work.kind].map((name) => tools.find((each) => each.name === name)).find((each) => each != null);
  if (tool === undefined) throw new Error(`no tool to ${work.kind}: ${tools.map(({ name }) => name).join(', ')}`);
  const { name, schema } = tool;
  if (name === 'apply_patch') return { name, input: { input: PATCH } };
  if (name === 'exec_command') return { name, input: { cmd: commandFor(work) } };
  const path = ['file_path', 'filePath', 'path'].find((each) => each in (schema.properties ?? {}));
  if (path === undefined) throw new Error(`the tool ${name} has no known parameter for a path`);
  const content = work.kind === 'write' ? { content: GREETING } : {};
  return { name, input: { [path]: `${directory}/${fileOf(work)}`, ...content } };
}

const fileOf = (work: Work): string => ('file' in work ? work.file : FILE);

const PATCH = `*** Begin Patch\n*** Add File: ${FILE}\n+${GREETING.trimEnd()}\n*** End Patch`;

function commandFor(work: Work): string {
  return work.kind === 'write' ? `printf '%s\\n' '${GREETING.trimEnd()}' > ${FILE}` : `cat ${fileOf(work)}`;
}

function scriptFor(work: Work, directory: string): string {
  if (work.kind === 'read') {
    return `text((await tools.exec_command({ cmd: ${JSON.stringify(commandFor(work))} })).output);`;
  }
  if (work.kind === 'write') return `text(await tools.apply_patch(${JSON.stringify(PATCH)}));`;
  return `image(await tools.view_image({ path: ${JSON.stringify(`${directory}/${fileOf(work)}`)} }));`;
}
