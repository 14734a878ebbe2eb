import type { DialectConfig } from '../../config/dialect-schema.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseJson } from '../../lib/json/json.ts';
import { jsonOperationOf } from '../../protocols/operations/all.ts';
import { makerOf } from '../../protocols/translation/carriers.ts';
import type { ProviderFormName } from '../../protocols/translation/pairs.ts';
import { translateWhole } from '../../protocols/translation/translated-answer.ts';
import { targetOf } from '../../providers/catalog/translated-routes.ts';
import type { Provider } from '../../providers/upstream/provider.ts';
import { scrub } from '../../providers/upstream/secrets.ts';
import { sendTestCall } from '../test-call.ts';
import { translated } from '../translated.ts';
import { type ShownReasoning, shownReasoning } from './trial-answers.ts';
import { CLIENT_OF, type TrialRequest, trialBody } from './trial-requests.ts';

/** One request with a dialect. */
export interface DialectTrial {
  /** What was tried, such as `reasoning: thinking`. */
  readonly tried: string;
  readonly isSuccess: boolean;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  /** The provider's words, or what the response lacks. It contains no secrets. */
  readonly message: string | null;
}

/** Time limit for one request. The provider's own timeouts apply too. */
const TRIAL_LIMIT_MS = 60_000;
/** Time limit for all requests of a search, whose caller waits for its end. */
const SEARCH_LIMIT_MS = 300_000;

export interface Answer {
  /** What the client would get. */
  readonly answer: unknown;
  readonly shown: ShownReasoning;
}

interface TrialDependencies {
  readonly provider: Provider;
  readonly credential: string;
  /** Header names that clients may use for the provider's protocol. */
  readonly mountedNames: readonly string[];
  readonly clock: Clock;
  readonly providerModel: string;
  readonly outputTokensMax: number | null;
}

/** Sends requests with dialects, and lists what came of them. */
export class DialectTrials {
  readonly done: DialectTrial[] = [];
  readonly #dependencies: TrialDependencies;
  readonly #form: ProviderFormName;
  readonly #endsAtMs: number;

  constructor(dependencies: TrialDependencies) {
    this.#dependencies = dependencies;
    this.#endsAtMs = dependencies.clock.nowMs() + SEARCH_LIMIT_MS;
    this.#form = dependencies.provider.protocol.name as ProviderFormName;
  }

  get client(): 'chat' | 'messages' {
    return CLIENT_OF[this.#form];
  }

  /** The words of the last refusal. */
  get lastWords(): string {
    return this.done.at(-1)?.message ?? '';
  }

  /**
   * Sends a request through the translation.
   * @param lacks why the response is no success; `null`: it is one
   * @returns `null` if there is no success
   */
  async ask(
    tried: string,
    dialect: DialectConfig,
    request: TrialRequest,
    lacks: (answer: Answer) => string | null = () => null,
  ): Promise<Answer | null> {
    const { provider, clock } = this.#dependencies;
    const startedAtMs = clock.nowMs();
    let httpStatus: number | null = null;
    let answer: Answer | null = null;
    let message: string | null;
    try {
      const sent = await this.#send(dialect, request, (status) => {
        httpStatus = status;
      });
      answer = sent.answer;
      message = answer === null ? sent.message : lacks(answer);
    } catch (error) {
      // The translation could not express the request or the response.
      message = error instanceof Error ? error.message : String(error);
    }
    const durationMs = clock.nowMs() - startedAtMs;
    const words = message === null ? null : scrub(message, provider.hidden.texts);
    this.done.push({ tried, isSuccess: message === null, httpStatus, durationMs, message: words });
    return message === null ? answer : null;
  }

  async #send(dialect: DialectConfig, request: TrialRequest, hasStatus: (status: number | null) => void) {
    const { provider, credential, providerModel, outputTokensMax, clock } = this.#dependencies;
    const limitMs = Math.min(TRIAL_LIMIT_MS, this.#endsAtMs - clock.nowMs());
    if (limitMs <= 0) return { answer: null, message: `not sent: the search took ${SEARCH_LIMIT_MS} ms` };
    const body = Buffer.from(JSON.stringify(trialBody(this.client, providerModel, request)));
    // Providers of messages need a limit; that of the request is below that of every model.
    const about = { maker: makerOf(provider.id), outputTokensMax: outputTokensMax ?? Number.MAX_SAFE_INTEGER };
    const target = targetOf(this.#form, about, [dialect, undefined]);
    const { request: written, facts } = translated(
      { client: this.client, model: providerModel, providerModel },
      body,
      target,
    );
    const operation = jsonOperationOf(this.#form);
    const input = operation.toInput(facts, Buffer.from(written.body));
    const call = { credential, path: operation.upstreamPath, input, model: providerModel, limitMs };
    const end = await sendTestCall(call, this.#dependencies);
    hasStatus(end.head?.status ?? null);
    if (end.message !== null) return { answer: null, message: end.message };
    const at = { callId: 'provider-test', startedAtMs: clock.nowMs() };
    const whole = translateWhole(written.answer, at, end.body, null);
    const answer = { answer: parseJson(whole.toString('utf8')), shown: shownReasoning(this.#form, end.body) };
    return { answer, message: null };
  }
}
