import { z } from 'zod';
import { formatYuan } from '../lib/yuan.ts';
import {
  addressRange,
  allowedPart,
  amountNano,
  anyText,
  baseUrl,
  certificates,
  corsOrigins,
  databaseUrl,
  day,
  dayRange,
  durationMs,
  durationOrZeroMs,
  exchangeRate,
  headerValue,
  imagePrices,
  keptDayMs,
  keptOrZeroMs,
  keptWeekMs,
  listenAddress,
  longDurationMs,
  name,
  nameOrNone,
  percentage,
  priceFactor,
  protocolNames,
  providerUrl,
  proxyUrl,
  publicUrl,
  sender,
  sizeBytes,
  startOfPrice,
  supportAddress,
  text,
  timezone,
  vendorModel,
  wireName,
} from './fields.ts';
import { logo, showLogo } from './logo.ts';
import { issuerUrl, scope } from './oidc.ts';
import { jsonValue } from './parameters-schema.ts';
import { type ConfiguredCredential, providerCredential } from './provider-credentials.ts';
import { type Config, configSchema } from './schema.ts';
import { formatDayRange, formatDuration, formatSize } from './units.ts';
import { useLimits } from './use-limits-schema.ts';

export const NOT_SHOWN = '(not shown)';

type Shown = string | number | boolean | readonly Shown[] | { readonly [key: string]: Shown };

/** Returns a configuration as the file spells it, without secrets. A text is shown only if its type is known to be harmless. */
export function showConfig(config: Config): Shown {
  return showValue(configSchema, config);
}

// biome-ignore lint/suspicious/noExplicitAny: each function takes the values of its own field
const SHOWN_FIELDS: readonly (readonly [field: z.ZodType, show: (value: any) => Shown])[] = [
  ...[text, anyText, name, nameOrNone, timezone, wireName, baseUrl, sender, startOfPrice, day, allowedPart].map(
    (field) => [field, asItIs] as const,
  ),
  ...[
    corsOrigins,
    exchangeRate,
    issuerUrl,
    jsonValue,
    percentage,
    protocolNames,
    providerUrl,
    publicUrl,
    scope,
    supportAddress,
    vendorModel,
  ].map((field) => [field, asItIs] as const),
  ...[durationMs, durationOrZeroMs, longDurationMs, keptDayMs, keptWeekMs, keptOrZeroMs].map(
    (field) => [field, formatDuration] as const,
  ),
  ...[amountNano, priceFactor].map((field) => [field, formatYuan] as const),
  [logo, showLogo],
  [sizeBytes, formatSize],
  [imagePrices, showPrices],
  [dayRange, formatDayRange],
  [addressRange, ({ address, prefixBits }: z.infer<typeof addressRange>) => `${address}/${prefixBits}`],
  [
    listenAddress,
    ({ host, port }: { host: string; port: number }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
  ],
  [providerCredential, showCredential],
  [headerValue, () => NOT_SHOWN],
  [proxyUrl, showAddress],
  [databaseUrl, showAddress],
  [certificates, (pem: string) => `(${pem.split('-----BEGIN').length - 1} as PEM)`],
];

/** The keys are definitions of fields, because `describe` copies a field but keeps its definition. */
const SHOW = new Map(SHOWN_FIELDS.map(([field, show]) => [field._zod.def, show]));

export function showValue(schema: z.core.$ZodType, value: unknown): Shown {
  const showField = SHOW.get(schema._zod.def);
  if (showField !== undefined) return showField(value);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return showValue(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodObject) {
    const { shape } = schema;
    return showMembers(value, (key) => shape[key] as z.core.$ZodType);
  }
  if (schema instanceof z.ZodRecord) {
    const { valueType } = schema;
    return showMembers(value, () => valueType);
  }
  if (schema instanceof z.ZodArray) {
    const { element } = schema;
    return (value as readonly unknown[]).map((item) => showValue(element, item));
  }
  // A word of a fixed list, a number or a boolean is never secret.
  if (schema instanceof z.ZodEnum || typeof value === 'number' || typeof value === 'boolean') return value as Shown;
  return NOT_SHOWN;
}

function showMembers(value: unknown, schemaOf: (key: string) => z.core.$ZodType): Shown {
  const members = Object.entries(value as Record<string, unknown>).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, showValue(schemaOf(key), member)]));
}

function asItIs(value: Shown): Shown {
  return value;
}

/** Shows a credential: the path of its file, or the name of its command or sealed secret, which are not secret, and its limits. */
function showCredential(credential: ConfiguredCredential): Shown {
  if (typeof credential === 'string') return NOT_SHOWN;
  const limits = credential.limits === undefined ? {} : { limits: showValue(useLimits, credential.limits) };
  if ('isLiteral' in credential) return { value: NOT_SHOWN, ...limits };
  if ('command' in credential) return { command: credential.command, ...limits };
  return 'file' in credential ? { file: credential.file, ...limits } : { secret: credential.secret, ...limits };
}

type Prices = bigint | { readonly [name: string]: Prices };

function showPrices(prices: Prices): Shown {
  if (typeof prices === 'bigint') return formatYuan(prices);
  return Object.fromEntries(Object.entries(prices).map(([key, price]) => [key, showPrices(price)]));
}

/** Parameters of a database URL that are shown. Others may contain a secret. */
const PLAIN_QUERY = new Set(['sslmode', 'host', 'port', 'dbname', 'application_name', 'connect_timeout']);

/** Shows an address without user, password and unknown query parameters. */
function showAddress(address: string): string {
  const [, scheme = '', rest = '', query] = /^([a-z]*:\/\/)?([^?#]*)(?:\?([^#]*))?/i.exec(address) ?? [];
  const place = scheme + rest.slice(rest.lastIndexOf('@') + 1);
  if (query === undefined) return place;
  const members = query.split('&');
  const plain = members.filter((member) => PLAIN_QUERY.has(member.split('=')[0]!));
  const hidden = plain.length < members.length ? [NOT_SHOWN] : [];
  return `${place}?${[...plain, ...hidden].join('&')}`;
}
