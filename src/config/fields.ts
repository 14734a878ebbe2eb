import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { parseDecimal } from '../lib/decimal.ts';
import { parseAddressRange } from '../lib/ip-address.ts';
import { isPlainText } from '../lib/plain-text.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import { NANO_PER_YUAN, parseYuan } from '../lib/yuan.ts';
import { readRegularFile } from './regular-file.ts';
import { closestName } from './suggest.ts';
import { parseDayRange, parseDurationMs, parseSizeBytes } from './units.ts';

/**
 * This file defines types of fields. Each one parses the file's spelling into the unit that its name has. Its error message is the expected
 * value, such as `a port from 0 to 65535`; `load.ts` adds the value that was found.
 */

/** @param moved messages for keys of earlier versions */
export function section<Shape extends z.ZodRawShape>(
  shape: Shape,
  moved: Readonly<Record<string, string>> = {},
): z.ZodObject<Shape, z.core.$strict> {
  const names = Object.keys(shape);
  const examples = names.slice(0, 3).join(', ');
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? (issue.keys as string[])
            .map((key) => (Object.hasOwn(moved, key) ? moved[key] : unknownKeySentence(key, names)))
            .join('\n')
        : `a section with ${names.length === 1 ? 'the key' : 'keys such as'} ${examples}`,
  });
}

function unknownKeySentence(key: string, names: readonly string[]): string {
  const closest = closestName(key, names);
  return closest === null
    ? `Unknown key. Known keys here: ${names.join(', ')}.`
    : `Unknown key. Did you mean "${closest}"?`;
}

/** A record whose keys the operator chooses, such as names of models. `keys` describes them in error messages. */
export function named<Value extends z.ZodType>(keys: string, value: Value): z.ZodRecord<z.ZodString, Value> {
  return z.record(z.string(), value, { error: `a section whose keys are ${keys}` });
}

/** A list. `what` describes the items in error messages, with their minimum number if there is one. */
export function listOf<Item extends z.ZodType>(what: string, item: Item, lengthMin = 0): z.ZodArray<Item> {
  const expected = `a list of ${what}`;
  return z.array(item, { error: expected }).refine((items) => items.length >= lengthMin, { error: expected });
}

export function oneOf<const Word extends string>(words: readonly Word[]): z.ZodEnum<{ [Key in Word]: Key }> {
  const expected = words.length > 2 ? `one of ${words.join(', ')}` : words.join(' or ');
  return z.enum(words, { error: expected });
}

/** A field that is parsed from text. Numbers are text, so that none is rounded. `read` returns `null` for an error. */
export function parsed<Output>(read: (text: string) => Output | null, expected: string) {
  return z.string({ error: expected }).transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** Maximum delay of a Node timer. One with a longer delay fires at once. */
const DURATION_MS_MAX = 2 ** 31 - 1;

const durationBetween = (minMs: number, maxMs: number, expected: string, read = parseDurationMs) =>
  parsed((text) => {
    const ms = read(text);
    return ms === null || ms < minMs || ms > maxMs ? null : ms;
  }, expected);

/** A duration. It cannot be zero, which could mean "at once" or "no limit". */
export const durationMs = durationBetween(
  1,
  DURATION_MS_MAX,
  'a duration such as 500ms, 10s, 5m or 2h, above zero and at most 24d',
);
export const durationOrZeroMs = durationBetween(
  0,
  DURATION_MS_MAX,
  'a duration such as 0s, 10s, 5m or 2h, at most 24d',
);

const DAY_MS = 86_400_000;

/** A duration that may exceed the maximum delay of a timer, because no timer waits for it. */
export const longDurationMs = durationBetween(
  60_000,
  366 * DAY_MS,
  'a duration such as 12h or 7d, of one minute at least and at most 366d',
);

/** A retention time. The text `0` needs no unit. */
const keptMs = (minMs: number, expected: string) =>
  durationBetween(minMs, 36_500 * DAY_MS, expected, (text) => (text.trim() === '0' ? 0 : parseDurationMs(text)));

export const keptDayMs = keptMs(DAY_MS, 'a duration such as 400d, of one day at least and at most 36500d');
export const keptWeekMs = keptMs(7 * DAY_MS, 'a duration such as 30d, of seven days at least and at most 36500d');
export const keptOrZeroMs = keptMs(0, 'a duration such as 30d or 12h, at most 36500d, or 0');

export const sizeBytes = parsed((text) => {
  const bytes = parseSizeBytes(text);
  return bytes === null || bytes === 0 ? null : bytes;
}, 'a size such as 64MiB, 500KB or 1024, above zero');

export const dayRange = parsed(parseDayRange, 'a range of hours such as 09:00-21:00');

const IMAGE_PRICES =
  'a price in yuan, or prices by quality and size such as { low: "0.1", high: { 1024x1024: "0.5" } }';

const EXCHANGE_RATE = 'yuan per dollar such as "7.15", above zero';
const PERCENTAGE = 'a percentage such as "20" or "2.5", from 0 to 10000';
const VENDOR_MODEL = 'a vendor and the name of a model, such as openai/gpt-4o';

/** An amount of money in nano-yuan, zero or more. */
export const amountNano = parsed((text) => {
  const nano = parseYuan(text);
  return nano === null || nano < 0n ? null : nano;
}, 'an amount in yuan such as "4" or "0.30", zero or more, with at most 9 decimals');

/** A price factor in billionths: half the price is 500,000,000. */
export const priceFactor = parsed((text) => {
  const nano = parseYuan(text);
  return nano === null || nano < 0n || nano > 1_000n * NANO_PER_YUAN ? null : nano;
}, 'a factor on the prices of tokens such as "0.5" or "2", from 0 to 1000, with at most 9 decimals');

/**
 * A price per image, or a table of prices by quality, by size, or by both, with `default` for all others. Keys of the form WIDTHxHEIGHT are
 * sizes, all others qualities; vendors define both, per model.
 */
export const imagePrices = z
  .preprocess(
    (value) => (typeof value === 'string' ? { default: value } : value),
    z.record(z.string(), z.union([amountNano, z.record(z.string(), amountNano)]), { error: IMAGE_PRICES }),
  )
  .refine((table) => Object.keys(table).length > 0, { error: IMAGE_PRICES });

const numberBetween = (min: number, max: number, form: RegExp, expected: string) =>
  parsed((text) => {
    const value = Number(text);
    return form.test(text) && value >= min && value <= max ? value : null;
  }, expected);

/** Tokens of the model per token of the estimator. */
export const factor = numberBetween(0.1, 10, /^\d{1,2}(\.\d{1,4})?$/, 'a factor from 0.1 to 10, such as 1.25');

export const ratio = numberBetween(0, 1, /^\d(\.\d{1,9})?$/, 'a ratio from 0 to 1, such as 0.05');

const ORIGIN = 'an origin such as https://app.example, without a path, or "*"';

export const corsOrigins = listOf(
  'origins such as https://app.example, or "*"',
  z
    .string({ error: ORIGIN })
    .refine((origin) => origin === '*' || URL.parse(origin)?.origin === origin, { error: ORIGIN }),
);

/** A positive number as text, so that none is rounded. */
export const exchangeRate = z
  .string({ error: EXCHANGE_RATE })
  .refine((value) => parseDecimal(value) !== null, { error: EXCHANGE_RATE });

const PERCENTAGE_MAX = 10_000;

/** Zero or more, as text. */
export const percentage = z
  .string({ error: PERCENTAGE })
  .refine((value) => /^\d{1,5}(\.\d{1,9})?$/.test(value) && Number(value) <= PERCENTAGE_MAX, { error: PERCENTAGE });

/** A model in a price file. */
export const vendorModel = z
  .string({ error: VENDOR_MODEL })
  .regex(/^[^\s\p{Cc}/]+\/[^\p{Cc}]+$/u, { error: VENDOR_MODEL });

export const addressRange = parsed(parseAddressRange, 'an IP address, or a range such as 10.0.0.0/8');

export const port = numberBetween(0, 65_535, /^\d{1,5}$/, 'a port from 0 to 65535');

const LISTEN_ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/;

/** An address as `HOST:PORT`, with IPv6 addresses in brackets. */
export const listenAddress = parsed((text) => {
  const match = LISTEN_ADDRESS.exec(text);
  const port = Number(match?.[3]);
  return match === null || port > 65_535 ? null : { host: (match[1] ?? match[2])!, port };
}, 'an address such as 127.0.0.1:9464 or [::1]:9464');

export const wholeNumber = (min: number, max = Number.MAX_SAFE_INTEGER) => {
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return numberBetween(min, max, /^-?\d+$/, `a whole number ${range}`);
};

/** A boolean or its text, because variables are text. */
export const trueOrFalse = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
  error: 'true or false',
});

export const anyText = z.string({ error: 'text' });

export const text = anyText.refine((value) => value !== '', { error: 'non-empty text' });

const ALLOWED_PART = 'a name such as tools.x_search, tools.mcp.headers or tools.openrouter:*';

/** Name of an unknown part that requests may contain nevertheless (`UnlistedPart`), or a prefix of names followed by `*`. */
export const allowedPart = anyText.refine((value) => /^(?:tools|mcp_servers)\.[^\s*]+\*?$/.test(value), {
  error: ALLOWED_PART,
});

const PLAIN_TEXT = 'text without control characters or bidirectional marks';

/** A name, which tables, messages and logs show; it may be empty. */
export const nameOrNone = anyText.refine(isPlainText, { error: PLAIN_TEXT });
export const name = text.refine(isPlainText, { error: PLAIN_TEXT });

const START_OF_PRICE = 'a day such as 2026-12-01, or an instant such as 2026-12-01T08:00:00+08:00';

/** A date in ISO 8601. */
export const day = z.iso.date({ error: 'a day such as 2026-10-01' });

const instant = z.iso.datetime({ offset: true });

/** Start of a price: a day in the billing time zone, or an instant. The text is kept as it is. */
export const startOfPrice = z
  .string({ error: START_OF_PRICE })
  .refine((text) => day.safeParse(text).success || instant.safeParse(text).success, { error: START_OF_PRICE });

/** A credential. It must be valid as a header value. */
export const secret = z
  .string({ error: 'a credential' })
  .regex(/^[\x21-\x7e]+$/, { error: 'a credential of ASCII characters without spaces or line breaks' });

export const password = z
  .string({ error: 'a password' })
  .regex(/^\P{Cc}+$/u, { error: 'a password without line breaks or control characters' });

const MAIL_ADDRESS = /^[^\s@<>",;:]+@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;

/** An e-mail address, optionally with a display name. */
export const sender = z.string({ error: 'an e-mail address' }).refine(
  (text) => {
    const [, named] = /^[^<>"\p{Cc}]*<([^<>]*)>$/u.exec(text) ?? [];
    return MAIL_ADDRESS.test(named ?? text);
  },
  { error: 'an e-mail address such as gateway@example.com or Gateway <gateway@example.com>' },
);

const SUPPORT_ADDRESS = 'an e-mail address such as help@example.com, or an https:// address';

/** An e-mail address, or the https:// address of a page. */
export const supportAddress = z
  .string({ error: SUPPORT_ADDRESS })
  .refine((text) => MAIL_ADDRESS.test(text) || (URL.parse(text)?.protocol === 'https:' && isPlainText(text)), {
    error: SUPPORT_ADDRESS,
  });

export const headerValue = z.string({ error: 'a header value' }).regex(/^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$/, {
  error: 'a header value without line breaks, non-ASCII characters, or leading or trailing spaces',
});

export const timezone = z
  .string({ error: timezoneExpected(null) })
  .refine(isTimezone, { error: (issue) => timezoneExpected(issue.input as string) });

function isTimezone(name: string): boolean {
  return succeeds(() => new Intl.DateTimeFormat('en', { timeZone: name }));
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

function timezoneExpected(misspelt: string | null): string {
  const closest = misspelt === null ? null : closestName(misspelt, Intl.supportedValuesOf('timeZone'));
  return `a time zone such as ${closest ?? 'Asia/Shanghai'}`;
}

/** A base URL, without a slash at its end. */
export const baseUrl = parsed((value) => {
  const url = URL.parse(value);
  return isBareHttp(url) ? withoutTrailing(url.href, '/') : null;
}, 'an http:// or https:// address without credentials, query or fragment');

/** The address of a provider, without a slash at the end of its path. It may have a query, such as `?api-version=preview`. */
export const providerUrl = parsed((value) => {
  const url = URL.parse(value);
  if (!isHttp(url) || [url.hash, url.username, url.password].some((part) => part !== '')) return null;
  if ([...url.searchParams.keys()].some((name) => SECRET_PARAMETER.test(name))) return null;
  return withoutTrailing(url.origin + url.pathname, '/') + url.search;
}, 'an http:// or https:// address without credentials or fragment; credentials do not belong in its query');

const SECRET_PARAMETER = /key|token|secret|password|credential|sig(nature)?$/i;

/** Whether a URL is HTTP, without credentials, query or fragment. */
export function isBareHttp(url: URL | null): url is URL {
  return isHttp(url) && [url.search, url.hash, url.username, url.password].every((part) => part === '');
}

function isHttp(url: URL | null): url is URL {
  return url?.protocol === 'http:' || url?.protocol === 'https:';
}

export const publicUrl = parsed((value) => {
  const url = URL.parse(value);
  return isHttp(url) && url.href === `${url.origin}/` ? url.origin : null;
}, 'an http:// or https:// address without a path, such as https://gateway.example');

/** A proxy's URL. Empty: no proxy. */
export const proxyUrl = parsed((value) => {
  if (value === '') return '';
  const url = URL.parse(value);
  if (url?.protocol !== 'http:' || url.pathname !== '/' || url.search !== '' || url.hash !== '') return null;
  return isDecodable(url.username) && isDecodable(url.password) ? url.href : null;
}, 'the address of an HTTP proxy such as http://user:password@proxy.example:3128');

function isDecodable(text: string): boolean {
  return succeeds(() => decodeURIComponent(text));
}

/**
 * Certificates as PEM, or the path of a file with PEM; the result is PEM. The file is read while the configuration is parsed, so an
 * unreadable one is reported with line and key.
 */
export const certificates = parsed((value) => {
  const pem = isPem(value) ? value : readText(value);
  const blocks = pem?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.length > 0 && blocks.every(isCertificate) ? blocks.join('\n') : null;
}, 'PEM certificates, or the path of a readable file that contains them');

/** Whether a value is PEM. If not, it is the path of a file. */
export function isPem(value: string): boolean {
  return value.includes('-----BEGIN');
}

function readText(path: string): string | null {
  try {
    return readRegularFile(path).bytes.toString('utf8');
  } catch {
    return null;
  }
}

function isCertificate(pem: string): boolean {
  return succeeds(() => new X509Certificate(pem));
}

/** A database URL. Empty: a local database. */
export const databaseUrl = anyText.refine((url) => url === '' || isDatabaseUrl(url), {
  error:
    'a postgres:// address such as postgres://user:password@host:5432/name, with a port from 1 to 65535 and special characters as in %20, or nothing for a local one',
});

/** Checks the URL here, because errors of the driver name no setting. */
function isDatabaseUrl(text: string): boolean {
  if (!/^postgres(ql)?:\/\/[^\s\p{Cc}]+$/u.test(text)) return false;
  // A URL may have no host. The driver then uses the socket path in the query, or its default.
  const address = text.replace(/^postgres(ql)?:\/\/([^/?#@]*@)?(?=[/?]|$)/, '$&localhost');
  if (!URL.canParse(address)) return false;
  const { username, password, hostname, pathname, port, searchParams } = new URL(address);
  const ports = [port, ...searchParams.getAll('port')].filter((given) => given !== '');
  return (
    ports.every((given) => /^\d{1,5}$/.test(given) && Number(given) >= 1 && Number(given) <= 65_535) &&
    [username, password, hostname, pathname].every(isDecodable)
  );
}

/** A name that is used in paths and in header names. */
export const wireName = z.string({ error: 'a name' }).regex(/^[a-z][a-z0-9-]{0,31}$/, {
  error: 'a name of at most 32 lower-case letters, digits and hyphens that begins with a letter',
});

/** One or more names of a protocol. The first one is canonical. */
export const protocolNames = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z
    .array(wireName, { error: 'a name or a list of names' })
    .refine((names) => names.length > 0, { error: 'at least one name' }),
);
