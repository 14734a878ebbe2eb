import type { ServerResponse } from 'node:http';
import { json, type ReceivedRequest, type Respond } from '../support/provider.ts';
import { FOREIGN, kindOf, type SignedRequest, signaturesOf } from '../support/signing-provider.ts';
import type { Vendor } from './gateway.ts';
import { messagesWire } from './messages-wire.ts';
import { responsesWire } from './responses-wire.ts';
import { type Conversation, FILE, GREETING, type ReportedUsage, type Step } from './said.ts';

/**
 * A model that does one task for any agent: read some files, write a greeting into another one, read it back, report success. Like a real
 * model it determines its progress from the conversation: from results of tools, or from its own summary of an earlier part.
 */
export const TASK = `Write a greeting into ${FILE}, read the file back, and say whether it is right.`;
/** In a summary: the number of completed steps. */
const SUMMED_UP = /Steps done: (\d+)/;
export const DONE = 'The file says what it should.';

/** A failure in place of the model's response. */
export type Fault =
  | { readonly kind: 'refuse'; readonly status: number; readonly body: object }
  /** The non-streaming response waits for something. */
  | { readonly kind: 'wait'; readonly until: Promise<void> }
  /** The connection breaks in the middle of the model's text, or after it, before the stream's last events. */
  | { readonly kind: 'break'; readonly at: 'inside' | 'behind' };

export interface Model {
  /** Responds as a provider of this vendor. */
  respondAs(vendor: Vendor): Respond;
  /** The vendor of each call in order, and whether it refused a signature: `zenith refuses`. */
  readonly vendors: readonly string[];
  /** The reported usage of each call in order; null if there was none. */
  readonly reported: readonly (ReportedUsage | null)[];
  /** Number of calls that asked for a summary of the conversation. */
  readonly summaries: number;
}

export interface ModelOptions {
  /** The agent's working directory. */
  readonly directory: string;
  /** The failure of the call with this number, from 0. */
  readonly fault?: ((call: number) => Fault | null) | undefined;
  /** Files to read before writing the greeting. */
  readonly files?: readonly string[] | undefined;
  /** Without it the model does not think. */
  readonly signing?: Signing | undefined;
}

/** Two vendors sign the model's thinking, and each refuses the other's signatures. */
export interface Signing {
  /** The vendor that is drained during the call with this number, from 0. */
  readonly drained: (call: number) => Vendor | null;
  /** The vendor that accepts the other's signatures. */
  readonly lenient?: Vendor;
}

export function startModel({ directory, fault = () => null, files = [], signing }: ModelOptions): Model {
  const steps: readonly Step[] = [
    ...files.map((file) => ({ kind: 'read', file }) as const),
    { kind: 'write' },
    { kind: 'read', file: FILE },
  ];
  const reported: (ReportedUsage | null)[] = [];
  const vendors: string[] = [];
  let summaries = 0;
  /** The step that each call requested. */
  const stepOfCall = new Map<number, number>();
  /** The furthest step in any conversation. The summary contains it, because the agent drops results before it asks for a summary. */
  let stepsDone = 0;

  function next({ parts }: Conversation, call: number): Step {
    let done = 0;
    for (const part of parts) {
      const step =
        part.kind === 'result'
          ? (stepOfCall.get(Number(/\d+$/.exec(part.id)?.[0])) ?? -1) + 1
          : Number(SUMMED_UP.exec(part.text)?.[1] ?? 0);
      done = Math.max(done, step);
    }
    stepsDone = Math.max(stepsDone, done);
    /** The last file read, here or in a summarised part of the conversation. */
    const read = parts.findLast(({ kind, text }) => kind === 'result' || SUMMED_UP.test(text))?.text ?? '';
    const last = parts.at(-1);
    if (last?.kind === 'text' && /\bsummary\b/i.test(last.text) && !SUMMED_UP.test(last.text)) {
      summaries += 1;
      const text = `<summary>${TASK} Steps done: ${stepsDone}. The last result: ${read.slice(-200)}</summary>`;
      return { kind: 'say', text };
    }
    stepOfCall.set(call, done);
    const step = steps[done];
    if (step !== undefined) return step;
    return { kind: 'say', text: read.includes(GREETING.trim()) ? DONE : `The file is wrong: ${read}` };
  }

  /** The vendor's refusal of the other's signature; null: it accepts it. */
  const refusal = ({ path, body }: ReceivedRequest, vendor: Vendor): Fault | null => {
    if (signing === undefined || signing.lenient === vendor) return null;
    const kind = kindOf(path);
    const signatures = signaturesOf(kind, JSON.parse(body.toString()) as SignedRequest);
    const isForeign = signatures.some((signature) => !signature.startsWith(vendor));
    return isForeign ? { kind: 'refuse', status: 400, body: FOREIGN[kind] } : null;
  };

  return {
    reported,
    vendors,
    get summaries() {
      return summaries;
    },
    respondAs: (vendor) => (request, response) => {
      const call = reported.length;
      // Different counts for every call, so that no sum is right by coincidence.
      const usage = { input: 1000 + call, cached: 500 + 3 * call, output: 20 + 7 * call };
      const foreign = refusal(request, vendor);
      vendors.push(foreign === null ? vendor : `${vendor} refuses`);
      const asked = foreign ?? fault(call);
      reported.push(asked === null || asked.kind === 'wait' ? usage : null);
      if (asked?.kind === 'refuse') return json(asked.status, asked.body)(request, response);

      const wire = request.path.startsWith('/v1/messages') ? messagesWire : responsesWire;
      const conversation = wire.read(JSON.parse(request.body.toString()));
      const { toolNames, model } = conversation;
      const signature = signing === undefined ? null : `${vendor}-${call}`;
      const said = { call, step: next(conversation, call), usage, directory, toolNames, model, signature };
      if (asked?.kind === 'break') return breakOff(wire.events(said)[asked.at], response);
      if (asked?.kind === 'wait') return asked.until.then(() => json(200, wire.whole(said))(request, response));
      if (!conversation.isStream) return json(200, wire.whole(said))(request, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const each of wire.events(said).all) response.write(each);
      response.end();
    },
  };
}

function breakOff(events: readonly string[], response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  // The reset must not overtake the data.
  response.write(events.join(''), () => response.socket?.resetAndDestroy());
}
