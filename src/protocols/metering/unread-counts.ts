import { isRecord } from '../../lib/json/json.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { isOfCache } from './cache-counts.ts';
import { countsToolUses, readsToolCount } from './tool-uses.ts';
import { readCount } from './usage-facts.ts';

/** Returns paths of counts that have no unit but might be billed, for the call record. */
export function unreadCounts(usage: Readonly<Record<string, unknown>>): readonly string[] {
  let places: string[] | null = null;
  const note = (place: string): void => {
    places ??= [];
    if (places.length < PLACES_MAX && place.length <= PLACE_CHARACTERS_MAX && isPlainText(place))
      places.push(`usage.${place}`);
  };
  for (const name of Object.keys(usage)) {
    const kind = kindOf(name);
    if (kind === 'none') continue;
    const value = usage[name];
    if (!isRecord(value)) {
      const isCount = typeof value === 'number' ? value > 0 : (readCount(value) ?? 0) > 0;
      if (isCount && !countsToolUses(name)) note(name);
    } else if (kind === 'uses') {
      for (const tool of Object.keys(value)) {
        if (!readsToolCount(name, tool, value[tool]) && holdsCount(tool, value[tool])) note(`${name}.${tool}`);
      }
    }
  }
  return places ?? NONE;
}

const NONE: readonly string[] = [];
const PLACES_MAX = 4;
const PLACE_CHARACTERS_MAX = 96;

/** What a member counts, judged by its name. `none`: nothing that is billed in addition to the totals. */
type Kind = 'uses' | 'tokens' | 'none';

const OF_TOOLS =
  /(?:^|_)(?:tools?|plugins?|connectors?|search|searches|quer(?:y|ies)|fetch(?:es)?|browser|pages?|sources?|citations?|containers?)(?:_|$)/;
const OF_TOKENS = /_tokens$|_audio_seconds$/;
/** Names of details and copies of the totals, and of draft and predicted output. */
const OF_TOTALS =
  /^(?:num_)?(?:prompt|completion|input|output|total|generated|generation|visible|text|image|audio|video|cached|draft|accepted|rejected|predicted)_(?!audio_seconds$)/;
const NO_QUANTITY = /(?:^|_)(?:cost|price|usd|ticks|time|ms|latency|duration|limit|max|remaining|size|id)(?:_|$)/;
/** Members that repeat other counts: those of a tool's sources (Volcengine Ark), and a count that includes unbilled uses (xAI). */
const REPEATED: readonly string[] = ['tool_usage_details', 'num_server_side_tools_used'];
/** Tokens that the output includes, or that have units of their own (Perplexity). */
const WITH_UNITS = /^(?:reasoning|thinking|thoughts|citation)_tokens$/;

/** Cache: matching the patterns would take a third of the time of reading usage. */
const kinds = new Map<string, Kind>();
const KINDS_MAX = 1_000;

function kindOf(name: string): Kind {
  const known = kinds.get(name);
  if (known !== undefined) return known;
  const kind = readKind(name);
  if (kinds.size < KINDS_MAX && name.length <= PLACE_CHARACTERS_MAX) kinds.set(name, kind);
  return kind;
}

function readKind(name: string): Kind {
  if (isOfCache(name) || OF_TOTALS.test(name) || REPEATED.includes(name)) return 'none';
  if (NO_QUANTITY.test(name) || WITH_UNITS.test(name)) return 'none';
  if (OF_TOOLS.test(name)) return 'uses';
  return OF_TOKENS.test(name) ? 'tokens' : 'none';
}

function holdsCount(name: string, value: unknown): boolean {
  if (NO_QUANTITY.test(name)) return false;
  if (isRecord(value))
    return Object.keys(value).some((each) => !isRecord(value[each]) && holdsCount(each, value[each]));
  return (readCount(value) ?? 0) > 0;
}
