import type { StoredResponse } from '../../accounting/repeats/stored-response.ts';
import { JsonCapture } from '../../lib/json/json-capture.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { ReadResponse } from '../../protocols/metering/response.ts';
import type { UsageFacts } from '../../protocols/metering/usage-facts.ts';
import { WrittenText } from '../../protocols/metering/written-text.ts';
import { SignedBlocks } from '../../protocols/signed-blocks.ts';
import {
  Exchange,
  type ResponseReceiver,
  type UpstreamHead,
  type UpstreamRequest,
} from '../../providers/upstream/exchange.ts';
import {
  type ProviderAnswer,
  successBrokenOff,
  UpstreamFailure,
  unusableSuccess,
} from '../../providers/upstream/failure.ts';
import { responseKind, upstreamRequestId } from '../../providers/upstream/headers.ts';
import { answerInSuccess, ERROR_BODY_BYTES_MAX, refusalFailure } from '../../providers/upstream/refusal.ts';
import type { Call } from '../call.ts';
import type { TranslatedInput } from '../translated-input.ts';
import { relayedHeaders } from './call-headers.ts';
import { usageOfWhole, type WrittenSize } from './estimates.ts';
import { HeldBytes } from './held-bytes.ts';
import type { RelayDependencies } from './relay-stream.ts';
import { MODEL_MEMBER, withModelName } from './shown-model.ts';
import { untranslatable } from './translated-error.ts';

/**
 * Maximum size of a response that is held until it is settled; if it cannot be billed, the client gets a 502. Of a larger response, all but
 * the last chunk is sent earlier; if it cannot be billed, the connection is closed.
 */
const HELD_BYTES_MAX = 32 * 1024 * 1024;
/** Memory that a chunk takes in addition to its bytes. Chunks can be tiny. */
const CHUNK_MEMORY_BYTES = 256;
/** Maximum size of captured members. Usage and ids are small, but the output of a compaction may be large. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;
const WITHOUT_USAGE = 'The provider gave a response without usage, so it cannot be billed. Nothing is charged.';
const UNTRUE_USAGE =
  'The provider gave a response with usage that cannot be true, so it cannot be billed. Nothing is charged.';
const TOO_LARGE_TO_TRANSLATE =
  'The response of the provider is larger than the 32 MiB that can be translated. Nothing is charged.';
const NOTHING_WRITTEN = { sizeBytes: 0, pictures: 0 };

/**
 * Relays a non-streaming response: reads all of it, settles the call, and only then sends the last byte. Without memory for that, all but
 * the last chunk is sent early, and the provider is read only as fast as the client reads (`docs/decisions/0071-unsent-responses.md`). If
 * the client leaves, the call is settled in the same way (`docs/client-aborts.md`).
 * @throws UpstreamFailure if there is no success to bill
 */
export function relayJson(call: Call, upstream: UpstreamRequest, dependencies: RelayDependencies): Promise<void> {
  return new JsonRelay(call, upstream, dependencies).run();
}

class JsonRelay implements ResponseReceiver {
  readonly #call: Call;
  readonly #upstream: UpstreamRequest;
  readonly #dependencies: RelayDependencies;
  readonly #capture: JsonCapture;
  /** The member of the response that may contain signed blocks; `null`: there is none. */
  readonly #signedMember: string | null;
  /** The name of the model that the response shows; `null`: that of the provider. */
  readonly #shownModel: string | null;
  /** Size of the text in the response. Chunks that must be dropped are measured before; all others only if the size is needed. */
  #written: WrittenText | null = null;
  #isMeasured = false;
  #exchange!: Exchange;
  #memory!: HeldBytes;
  #head: UpstreamHead | null = null;
  #requestId: string;
  #firstByteAtMs: number | null = null;
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** Size of the response so far, with bytes that were sent already. */
  #sizeBytes = 0;
  #isInvalid = false;
  /** Why the response is unusable; absent: the usual words. */
  #unusableWords: string | undefined;
  /** True if chunks are sent before settlement, because the response is too large or there is no memory. */
  #isSentEarly = false;
  /** True if there was no memory to store the response for repeats. */
  #isUnstorable = false;

  constructor(call: Call, upstream: UpstreamRequest, dependencies: RelayDependencies) {
    this.#call = call;
    this.#upstream = upstream;
    this.#dependencies = dependencies;
    this.#requestId = call.requestId;
    const { input, hasSeveralMakers } = call;
    const { keep, keepMarked, count, holding, estimate } = input.response;
    this.#signedMember = hasSeveralMakers ? input.signedMember : null;
    const showsAsked = call.route.showsAskedModel === true && call.translation === null;
    this.#shownModel = showsAsked ? call.askedModel : null;
    const more = upstream.provider.estimatesUsage ? estimate : undefined;
    this.#capture = new JsonCapture({
      keep: more === undefined ? keep : [...new Set([...keep, ...more.keep])],
      keepMarked:
        this.#signedMember === null
          ? keepMarked
          : { name: this.#signedMember, marks: keepMarked?.marks ?? null, isKeptUnmarked: true },
      count: more === undefined ? count : [...new Set([...count, ...more.count])],
      holding,
      locate: this.#shownModel === null ? undefined : MODEL_MEMBER,
      keptBytesMax: KEPT_BYTES_MAX,
    });
  }

  /** Maximum size of a body that is stored for repeated requests; 0: none is stored. */
  get #storedBytesMax(): number {
    return this.#call.claim?.bodyBytesMax ?? 0;
  }

  run(): Promise<void> {
    const { client, principal } = this.#call;
    this.#exchange = Exchange.start(this.#upstream, this);
    this.#memory = new HeldBytes(this.#dependencies.unsentOf(principal), client, this.#exchange);
    client.onGone(() => {
      // If the request was not sent, it is aborted. Otherwise the response is read to its end and settled.
      this.#exchange.abortUnsent();
      this.#dropUnlessStorable();
      this.#count();
      this.#memory.readOn();
    });
    return this.#exchange.done
      .then(
        () => this.#finish(null),
        (failure: unknown) => this.#finish(failure),
      )
      .finally(() => this.#memory.over());
  }

  #count(): boolean {
    const inChunks = this.#heldBytes + this.#held.length * CHUNK_MEMORY_BYTES;
    return this.#memory.keep(inChunks + this.#capture.memoryBytes);
  }

  receiveHead(head: UpstreamHead): void {
    this.#head = head;
    this.#firstByteAtMs = this.#dependencies.clock.nowMs();
    this.#requestId = upstreamRequestId(head.headers) ?? this.#requestId;
    if (responseKind(head.status, head.headers) === 'unusable') this.#isInvalid = true;
  }

  receive(chunk: Buffer): void {
    if (this.#head!.status === 200) {
      this.#receiveSuccess(chunk);
      return;
    }
    this.#sizeBytes += chunk.length;
    if (this.#sizeBytes <= ERROR_BODY_BYTES_MAX) this.#held.push(chunk);
    else this.#exchange.abort();
  }

  #receiveSuccess(received: Buffer): void {
    if (this.#isInvalid) return;
    try {
      this.#capture.push(received);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      this.#isInvalid = true;
      this.#exchange.abort();
      return;
    }
    const located = this.#shownModel === null ? [] : this.#capture.takeLocated();
    const chunk = located.length === 0 ? received : withModelName(received, located, this.#shownModel!);
    this.#held.push(chunk);
    this.#sizeBytes += chunk.length;
    this.#heldBytes += chunk.length;
    if (this.#call.client.isGone) this.#dropUnlessStorable();
    const isTooLarge = this.#sizeBytes > HELD_BYTES_MAX;
    if (this.#call.translation !== null) {
      // A translated response is written when all of it is known, so reading waits until there is memory for more.
      if (isTooLarge) this.#refuseTooLarge();
      this.#count();
      this.#memory.readOn();
      return;
    }
    const fits = this.#count();
    this.#isSentEarly ||= isTooLarge;
    if (!this.#call.client.isGone && (this.#isSentEarly || !fits)) {
      this.#isSentEarly = true;
      this.#sendAllButLast();
      // Marked members are only needed for tool uses that nothing else counts, so they are given up rather than awaiting memory.
      if (!fits) this.#capture.giveUpMarked();
      this.#count();
    }
    this.#memory.readOn();
  }

  #refuseTooLarge(): void {
    this.#isInvalid = true;
    this.#unusableWords = TOO_LARGE_TO_TRANSLATE;
    this.#held = [];
    this.#heldBytes = 0;
    this.#exchange.abort();
  }

  /** Called when the client has left. The response is dropped unless it can be stored for repeated requests. */
  #dropUnlessStorable(): void {
    if (!this.#isSentEarly && this.#sizeBytes <= this.#storedBytesMax && this.#hasMemoryToStore()) return;
    this.#letGo();
  }

  /** Drops the held chunks, except `kept`, after measuring them. */
  #letGo(...kept: readonly Buffer[]): void {
    this.#measure(this.#held);
    this.#held = [...kept];
    this.#heldBytes = kept[0]?.length ?? 0;
  }

  #measure(chunks: readonly Buffer[]): WrittenText | null {
    const { written } = this.#call.input.response;
    if (written === undefined) return null;
    this.#written ??= new WrittenText(written, false);
    for (const chunk of chunks) this.#written.addPart(chunk, false);
    return this.#written;
  }

  /** Size of the text in the whole response. Call this only after the response has ended. */
  #measured(): WrittenSize {
    if (!this.#isMeasured) this.#measure(this.#held);
    this.#isMeasured = true;
    return this.#written ?? NOTHING_WRITTEN;
  }

  #hasMemoryToStore(): boolean {
    this.#isUnstorable ||= this.#call.claim?.takeMemory(this.#sizeBytes) === false;
    return !this.#isUnstorable;
  }

  #sendAllButLast(): void {
    if (this.#held.length < 2) return;
    const { client } = this.#call;
    const last = this.#held.pop()!;
    // Another name of the model changes the length.
    if (!client.hasBegun) this.#begin(this.#shownModel === null ? contentLength(this.#head!) : null);
    for (const chunk of this.#held) client.write(chunk);
    this.#letGo(last);
  }

  async #finish(failure: unknown): Promise<void> {
    const { input, client, claim } = this.#call;
    try {
      const response = this.#readSuccess(failure);
      const usage = response === null ? null : await this.#usage(response);
      if (usage === null) throw this.#unusable(response);
      if (this.#call.translation !== null) await this.#translate(this.#call.translation, usage);
      await this.#call.end({
        status: 'succeeded',
        usage,
        httpStatus: 200,
        error: null,
        requestId: this.#requestId,
        counts: true,
        firstByteAtMs: this.#firstByteAtMs,
        continuationKeys: [...input.response.continuationKeys(response!), ...this.#signedKeys()],
        response: claim === null ? null : this.#storedResponse(),
      });
      this.#sendRest();
    } catch (error) {
      if (client.hasBegun) client.breakOff();
      throw error;
    }
  }

  /** Returns the response; `null` if it is not JSON. @throws the failure that the provider returned instead of a success */
  #readSuccess(failure: unknown): ReadResponse | null {
    const head = this.#head;
    // An error status is a refusal even if its body is truncated.
    if (failure !== null && (head === null || head.status === 200)) {
      const hasBegun = head !== null && this.#sizeBytes > 0;
      throw hasBegun && failure instanceof UpstreamFailure ? successBrokenOff(failure) : failure;
    }
    if (head!.status !== 200) {
      const { texts } = this.#upstream.provider.hidden;
      throw refusalFailure(head!, Buffer.concat(this.#held), texts, this.#requestId);
    }
    return this.#readResponse();
  }

  #signedKeys(): readonly string[] {
    const member = this.#signedMember === null ? undefined : this.#capture.value(this.#signedMember);
    if (member === undefined) return [];
    const signed = new SignedBlocks();
    signed.add(member);
    return signed.keys();
  }

  /**
   * Replaces the response by its translation.
   * @throws UpstreamFailure if the client's protocol cannot express it
   */
  async #translate({ answer }: TranslatedInput, usage: UsageFacts): Promise<void> {
    // The client has left, and nobody will repeat the request.
    if (this.#held.length === 0) return;
    const { callId, startedAtMs, principal } = this.#call;
    const whole = { facts: answer, call: { callId, startedAtMs }, usage };
    try {
      const translating = this.#dependencies.translateAnswer(whole, Buffer.concat(this.#held), principal);
      this.#held = [translating instanceof Promise ? await translating : translating];
    } catch (error) {
      throw untranslatable(error, this.#requestId);
    }
    this.#sizeBytes = this.#held[0]!.length;
    this.#heldBytes = this.#sizeBytes;
    this.#count();
  }

  #sendRest(): void {
    const { client } = this.#call;
    if (client.isGone) return;
    if (!client.hasBegun) this.#begin(this.#sizeBytes);
    const last = this.#held.pop();
    for (const chunk of this.#held) client.write(chunk);
    this.#held = [];
    client.end(last);
  }

  #usage(response: ReadResponse): Promise<UsageFacts | null> {
    const whole = { response, written: () => this.#measured() };
    return usageOfWhole(whole, this.#call, this.#upstream, this.#dependencies.countInput);
  }

  #unusable(response: ReadResponse | null): UpstreamFailure {
    const { input } = this.#call;
    const { basis } = this.#call.pricing;
    const answer = this.#errorAnswer();
    if (response === null) return unusableSuccess(this.#requestId, this.#unusableWords, answer);
    if (input.response.usage(response, basis) !== null) return unusableSuccess(this.#requestId, UNTRUE_USAGE, answer);
    const lacksUsage = basis === 'tokens' && (response.member('usage') ?? null) === null;
    return unusableSuccess(this.#requestId, lacksUsage ? WITHOUT_USAGE : undefined, answer);
  }

  /** What the provider says if its success is an error; some providers send errors with status 200. */
  #errorAnswer(): ProviderAnswer | undefined {
    const isWhole = this.#sizeBytes === this.#heldBytes && this.#sizeBytes <= ERROR_BODY_BYTES_MAX;
    if (!isWhole) return undefined;
    return answerInSuccess(200, Buffer.concat(this.#held), this.#upstream.provider.hidden.texts);
  }

  /** Reads captured members without parsing the whole response; `null` if it is not JSON. */
  #readResponse(): ReadResponse | null {
    if (this.#isInvalid) return null;
    try {
      this.#capture.end();
    } catch (error) {
      if (error instanceof JsonSyntaxError) return null;
      throw error;
    }
    return this.#capture;
  }

  /** The body is omitted if it is too large or there is no memory. */
  #storedResponse(): StoredResponse {
    const head = { status: 200, headers: this.#headers(), callHeaders: {} };
    if (this.#sizeBytes > this.#storedBytesMax) return { head, body: null };
    if (this.#isSentEarly || !this.#hasMemoryToStore()) return { head: { ...head, hasNoRoom: true }, body: null };
    return { head, body: Buffer.concat(this.#held) };
  }

  #begin(sizeBytes: number | null): void {
    const headers: Record<string, string | number> = this.#headers();
    if (sizeBytes !== null) headers['content-length'] = sizeBytes;
    this.#call.client.begin(200, headers);
  }

  #headers(): Record<string, string> {
    const { headers } = this.#head!;
    return relayedHeaders(headers, jsonContentType(headers['content-type']), this.#requestId);
  }
}

function contentLength({ headers }: UpstreamHead): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Returns a JSON content type in any case: with another one, clients would return the JSON as a string. */
function jsonContentType(contentType: string | undefined): string {
  return contentType !== undefined && /^application\/([\w.+-]+\+)?json\b/i.test(contentType)
    ? contentType
    : 'application/json';
}
