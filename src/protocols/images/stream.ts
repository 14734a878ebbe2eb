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

export interface RequestedStream extends RequestedImages {
  readonly count: number;
}

/** Events at the end of an image or of the stream, from OpenAI and compatible providers. */
const COMPLETED: readonly string[] = ['image_generation.completed', 'image_edit.completed'];
/** Events with unfinished images, whose tokens are included in those of the finished image. */
const PREVIEWS: readonly string[] = ['image_generation.partial_image', 'image_edit.partial_image'];
const PREVIEW_INDEX = 'partial_image_index';

const DONE = Buffer.from('[DONE]');

/**
 * Reads image streams of all vendors (contract 3, 4.5, 4.6).
 *
 *   streaming ── preview ──────────────────────────▶ streaming
 *             ── event with an image ──────────────▶ streaming; the image is delivered, whatever the event is called
 *             ── event with the error of an image ─▶ streaming, such as image_generation.partial_failed (Ark, MiniMax)
 *             ── *.completed with an image ────────▶ streaming; ended if it is the last image allowed
 *             ── *.completed without one, [DONE] ──▶ ended
 *             ── error ────────────────────────────▶ ended
 *
 * Delivered images are charged wherever the stream ends; nothing is charged before the first one.
 *
 * An image is one line of several megabytes of base64. Only a few small members of an event are kept, and previews are not read.
 */
export function readImagesStream(request: RequestedStream, basis: ChargeBasis): StreamReading {
  const images = new Map<string, ImageCount>();
  const tokens = new StreamTokens();
  let pictures = 0;
  let failures = 0;
  /** Number of delivered images, without one in a final event that is withheld because it cannot be billed. */
  let passed = 0;

  function read(event: Buffer): EventMeaning {
    const fields = eventFields(event);
    const { name, data } = fields;
    if (data === null || isPreview(fields)) return 'pass';
    if (name === 'error') return 'failed';
    if (data.equals(DONE)) return pictures + failures > 0 ? 'terminal' : 'pass';
    const members = captureWhole(data, CAPTURED);
    // An event that was interrupted is not valid JSON.
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
   * Whether a completion event ends the stream: it has the last image, or no image of its own. If no image was delivered before, an event
   * that cannot be billed ends the stream, too, and is withheld.
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

  function note(found: number, description: Omit<ImageCount, 'count'>): void {
    pictures += found;
    const key = JSON.stringify([description.quality, description.size]);
    images.set(key, { ...description, count: (images.get(key)?.count ?? 0) + found });
  }

  const isEstimated = (): boolean => basis === 'tokens' && passed > 0 && tokens.lacksAny;

  return {
    matters: () => true,
    written: null,
    outputReports: { count: 0 },
    read,
    usage() {
      // If all images failed, nothing is charged, even if the provider reports tokens.
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
    // An image mistaken for a preview would not be charged, so events that do not start with their type are parsed.
    isNeededWhole: (beginning) => !isPreview(eventFields(beginning)),
    noteLarge(beginning) {
      if (isPreview(eventFields(beginning))) return;
      // Only an image makes an event this large.
      passed++;
      tokens.add(undefined, 1, request.quality);
      note(1, { quality: request.quality, size: request.size });
    },
    continuesAfterEnd: true,
    get isNeverEstimated() {
      return !isEstimated();
    },
    get hasOtherOutput() {
      return passed > 0;
    },
  };
}

const TYPE_AT_START = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/;
const TYPE_BYTES = 256;

/** Whether an event is a preview, by its name or, if it has none, by its type. The event can be incomplete. */
function isPreview({ name, data }: EventFields): boolean {
  const known = name ?? (data === null ? null : TYPE_AT_START.exec(data.toString('latin1', 0, TYPE_BYTES))?.[1]);
  return known != null && PREVIEWS.includes(known);
}

/** Members that are kept of an event's data, a few hundred bytes. */
const CAPTURED: JsonCaptureOptions = {
  keep: ['type', 'usage', 'quality', 'size', PREVIEW_INDEX],
  holding: pictureRules,
  keptBytesMax: 64 * 1024,
};
