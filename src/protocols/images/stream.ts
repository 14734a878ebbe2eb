import type { JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import { type EventFields, eventFields } from '../../lib/sse/event-fields.ts';
import type { ReadResponse } from '../metering/response.ts';
import { captureWhole } from '../metering/response.ts';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { type ChargeBasis, type ImageCount, noUsage } from '../metering/usage-facts.ts';
import { pictureRules } from './pictures.ts';
import type { RequestedImages } from './response.ts';
import { StreamTokens } from './stream-tokens.ts';
import { deliveredAs, deliveredSize } from './usage.ts';

/** What was requested, with the most images that the request allows. */
export interface RequestedStream extends RequestedImages {
  readonly count: number;
}

/** The events that end a stream, or one picture of several, at OpenAI and whoever follows it. */
const COMPLETED: readonly string[] = ['image_generation.completed', 'image_edit.completed'];
/** Previews of a picture that is not finished. The vendor bills them inside the tokens of the finished one. */
const PREVIEWS: readonly string[] = ['image_generation.partial_image', 'image_edit.partial_image'];
const PREVIEW_INDEX = 'partial_image_index';

const DONE = Buffer.from('[DONE]');

/**
 * Streams of images (contract 3, 4.5, 4.6), of all vendors.
 *
 *   streaming ── a preview ────────────────────────▶ streaming
 *             ── an event with a picture ──────────▶ streaming; it is delivered, whatever the event is called
 *             ── an event with the error of one ───▶ streaming, such as image_generation.partial_failed (Ark, MiniMax)
 *             ── *.completed with a picture ───────▶ streaming, until as many have come as may come; then ended
 *             ── *.completed without one, [DONE] ──▶ ended
 *             ── error ────────────────────────────▶ ended
 *
 * What delivered pictures cost is charged wherever the stream ends. Before the first one nothing is.
 *
 * An image is megabytes of base64 on one line. Of an event only a few small members are kept; previews are not read.
 */
export function readImagesStream(request: RequestedStream, basis: ChargeBasis): StreamReading {
  const images = new Map<string, ImageCount>();
  const tokens = new StreamTokens();
  let pictures = 0;
  let failures = 0;
  /** Pictures that are delivered, other than with a last event, which is not where it cannot be billed. */
  let passed = 0;

  function read(event: Buffer): EventMeaning {
    const fields = eventFields(event);
    const { name, data } = fields;
    if (data === null || isPreview(fields)) return 'pass';
    if (name === 'error') return 'failed';
    if (data.equals(DONE)) return pictures + failures > 0 ? 'terminal' : 'pass';
    const members = captureWhole(data, CAPTURED);
    // The data of the last event of a stream that broke off are no JSON.
    if (members === null || (members.member(PREVIEW_INDEX) ?? null) !== null) return 'pass';
    const named = members.member('type');
    const type = typeof named === 'string' ? named : null;
    if (type !== null && PREVIEWS.includes(type)) return 'pass';
    if (type === 'error') return 'failed';
    const isNamed = type !== null || (name !== null && name !== 'message');
    const found = members.holding('pictures');
    if (found === 0 && members.holding('errors') > 0) {
      if (!isNamed) return 'failed';
      failures++;
    }
    failures += members.holding('failures');
    take(members, found);
    const isLast = COMPLETED.some((each) => each === name || each === type) && isEnd(found);
    if (!isLast) passed += found;
    return isLast ? 'terminal' : 'pass';
  }

  /**
   * Whether an event of completion is the last one: as many have come as may come, or it sums up what came before, or it
   * cannot be billed and nothing has been delivered yet, so that it is withheld.
   */
  function isEnd(found: number): boolean {
    if (found === 0) return pictures + failures > 0 || request.count === 1;
    return pictures >= request.count || (passed === 0 && basis === 'tokens' && tokens.lacksAny);
  }

  function take(members: ReadResponse, found: number): void {
    const quality = deliveredAs(members.member('quality'), request.quality);
    tokens.add(members.member('usage'), found, quality);
    if (found === 0) return;
    note(found, { quality, ...deliveredSize(members.member('size'), request.size) });
  }

  function note(found: number, look: Omit<ImageCount, 'count'>): void {
    pictures += found;
    const key = JSON.stringify([look.quality, look.size]);
    images.set(key, { ...look, count: (images.get(key)?.count ?? 0) + found });
  }

  /** Whether pictures have been delivered whose tokens the provider has not reported. */
  const isEstimated = (): boolean => basis === 'tokens' && passed > 0 && tokens.lacksAny;

  return {
    matters: () => true,
    written: null,
    outputReports: { count: 0 },
    read,
    usage() {
      // A picture that failed costs nothing, whatever the provider reports.
      if (pictures === 0) return failures > 0 ? noUsage : null;
      if (basis === 'tokens' && tokens.lacksAny) return null;
      return { ...tokens.reported(), images: [...images.values()] };
    },
    partialUsage: () => (isEstimated() ? { ...tokens.estimated(), images: [...images.values()] } : null),
    get hasOutputEnd() {
      return pictures > 0;
    },
    get canEndHere() {
      return pictures + failures > 0;
    },
    // An event that does not name its type at once is read: a final image that passed as a preview would not be charged.
    isNeededWhole: (beginning) => !isPreview(eventFields(beginning)),
    noteLarge(beginning) {
      if (isPreview(eventFields(beginning))) return;
      // Too large to be read, and so large only because of its picture.
      passed++;
      tokens.add(undefined, 1, request.quality);
      note(1, { quality: request.quality, size: request.size });
    },
    // The last picture may come before its previews.
    goesOnBehindEnd: true,
    get isNeverEstimated() {
      return !isEstimated();
    },
    get hasOtherOutput() {
      return passed > 0;
    },
  };
}

const TYPE_AT_START = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/;
/** A type stands at the beginning of the data, where providers put it. */
const TYPE_BYTES = 256;

/** Whether an event, or one that begins so, is a preview by its name, or by its type if it has no name. */
function isPreview({ name, data }: EventFields): boolean {
  const known = name ?? (data === null ? null : TYPE_AT_START.exec(data.toString('latin1', 0, TYPE_BYTES))?.[1]);
  return known != null && PREVIEWS.includes(known);
}

/** What is kept of the data of an event. Members that are read have a few hundred bytes; larger ones are not kept. */
const CAPTURED: JsonCaptureOptions = {
  keep: ['type', 'usage', 'quality', 'size', PREVIEW_INDEX],
  holding: pictureRules,
  keptBytesMax: 64 * 1024,
};
