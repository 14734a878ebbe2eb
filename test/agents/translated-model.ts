import { json, sse } from '../support/provider.ts';
import { chatRefusal } from '../support/strict-chat.ts';
import { messagesRefusal } from '../support/strict-messages.ts';
import { targetOf } from '../support/transcripts.ts';
import { DONE, type Model } from './model.ts';
import { FILE, type ReportedUsage } from './said.ts';
import { chatAnswer, messagesAnswer } from './translated-answers.ts';
import { type Asked, readChat, readMessages, SUBAGENT_TASK, type Turn, usesFor, type Work } from './translated-wire.ts';

/** The protocols that providers of translated models speak. */
export type Target = 'chat' | 'messages';

/** Files that the model reads at once, by their contents. */
export const PARTS: Readonly<Record<string, string>> = {
  'part-a.txt': 'The first part says "ä\\n" and 😀.\n',
  'part-b.txt': 'The second part says 9007199254740993.\n',
};
export const PICTURE = 'picture.png';
export const TRANSLATED_TASK = `Read ${Object.keys(PARTS).join(' and ')}, look at ${PICTURE}, write a greeting into ${FILE}, and say whether it is right.`;

/** Calls of tools in each turn of the model. */
const STEPS: readonly (readonly Work[])[] = [
  [...Object.keys(PARTS).map((file) => ({ kind: 'read', file }) as const), { kind: 'search' }],
  [{ kind: 'look', file: PICTURE }, { kind: 'found' }],
  [{ kind: 'write' }],
];

export interface TranslatedModel extends Model {
  /** What a strict provider refused, in its own words. */
  readonly refusals: readonly string[];
  /** Files whose contents arrived. */
  readonly seen: ReadonlySet<string>;
  /** For each request, how many of the model's turns came with their reasoning, and how many without. */
  readonly replayed: readonly { readonly complete: number; readonly missing: number }[];
}

export interface TranslatedModelOptions {
  /** The agent's working directory. */
  readonly directory: string;
  readonly target: Target;
  /** Whether the provider refuses its turns without their reasoning. */
  readonly needsReasoning: boolean;
}

/**
 * A model that does one task for agents of other protocols: read two files at once, look at a picture, write a file. It reasons in every
 * turn, and its provider refuses what strict vendors refuse.
 */
export function startTranslatedModel({ directory, target, needsReasoning }: TranslatedModelOptions): TranslatedModel {
  const reported: ReportedUsage[] = [];
  const vendors: string[] = [];
  const refusals: string[] = [];
  const seen = new Set<string>();
  const replayed: { complete: number; missing: number }[] = [];
  const turnOfCall = new Map<string, Turn>();
  const stepOfCall = new Map<string, number>();
  /** Reasoning by what identifies it: the id of a call, or the signature. */
  const issued = new Map<string, string>();
  const { form, dialect } = targetOf(target);
  // Without their reasoning, turns of a chat model come back with a placeholder.
  const strictness = { issued: form === 'messages' || needsReasoning ? issued : new Map<string, string>() };

  const note = ({ turns, pictures }: Asked, body: string): void => {
    const reasoned = turns.filter(({ id }) => turnOfCall.get(id)?.reasoning !== '');
    const complete = reasoned.filter((turn) => {
      const own = turnOfCall.get(turn.id);
      return turn.reasoning === own?.reasoning && (target === 'chat' || turn.signature === own?.signature);
    }).length;
    replayed.push({ complete, missing: reasoned.length - complete });
    for (const [file, content] of Object.entries(PARTS)) {
      if (body.includes(JSON.stringify(content.trimEnd()).slice(1, -1))) seen.add(file);
    }
    if (pictures > 0) seen.add(PICTURE);
  };

  const stepFor = ({ tools, results }: Asked, body: string): number => {
    if (tools.length === 0 || body.includes(SUBAGENT_TASK)) return STEPS.length;
    return Math.max(0, ...results.map((id) => (stepOfCall.get(id) ?? -1) + 1));
  };

  return {
    reported,
    vendors,
    refusals,
    seen,
    replayed,
    summaries: 0,
    respondAs: (vendor) => (request, response) => {
      const call = reported.length;
      const text = request.body.toString('utf8');
      const body = JSON.parse(text);
      // Different counts for every call, so that no sum is right by coincidence.
      const usage = { input: 1000 + call, cached: 500 + 3 * call, output: 20 + 7 * call };
      vendors.push(vendor);
      reported.push(usage);
      const asked = target === 'chat' ? readChat(body) : readMessages(body);
      note(asked, text);
      const { complete, missing } = replayed.at(-1)!;
      const refusal =
        (form === 'chat'
          ? chatRefusal(body, { dialect, ...strictness })
          : messagesRefusal(body, { dialect, ...strictness })) ??
        (needsReasoning && missing > 0 ? `${missing} of ${complete + missing} turns lack their reasoning` : null);
      if (refusal !== null) {
        refusals.push(refusal);
        const error = { type: 'invalid_request_error', message: refusal };
        return json(400, target === 'chat' ? { error } : { type: 'error', error })(request, response);
      }

      const step = stepFor(asked, text);
      const prefix = target === 'chat' ? 'call' : 'toolu';
      const uses = usesFor(STEPS[step] ?? [], `${prefix}_${call}`, asked, directory);
      const turn: Turn = {
        call,
        model: asked.model,
        usage,
        reasoning: asked.reasons ? `Call ${call}: “think” about\\nit 😀.\n` : '',
        signature: Buffer.from(`signed ${call}`).toString('base64'),
        text: uses.length === 0 ? DONE : `Step ${call}.`,
        uses,
      };
      if (turn.reasoning !== '') issued.set(turn.signature, turn.reasoning);
      for (const { id } of uses) {
        if (turn.reasoning !== '') issued.set(id, turn.reasoning);
        turnOfCall.set(id, turn);
        stepOfCall.set(id, step);
      }
      const answer = target === 'chat' ? chatAnswer(turn, asked.reportsUsage) : messagesAnswer(turn);
      return (asked.isStream ? sse(answer.events) : json(200, answer.whole))(request, response);
    },
  };
}
