import { type Command, InvalidArgumentError } from 'commander';
import type { AccountResponse } from '../../api/management/wire.ts';

/** The options of limits by the minute, of accounts and keys alike. */

type Maxima = Pick<AccountResponse, 'requestsPerMinute' | 'tokensPerMinute'>;

export const NONE = 'none';

export function addMinuteOptions(command: Command): Command {
  return command
    .option('--requests-per-minute <count>', 'the most requests in a minute', readCount)
    .option('--tokens-per-minute <count>', 'the most tokens in a minute, of input and output together', readCount)
    .option(
      '--model-limit <model:limits>',
      'the same for one model, such as acme-large:requests=10,tokens=20000, or acme-large:none; several may be given',
      readModelLimit,
    );
}

/** Parses a limit: a number, or the word for none. */
export function readCount(text: string): number | typeof NONE {
  if (text === NONE) return NONE;
  // Number() would accept "", "1e3" and " 7", and turn "abc" into NaN, which JSON writes as null and so removes the limit.
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError(`Expected a whole number such as 10, or "${NONE}".`);
  return Number(text);
}

export const orNull = (value: unknown): unknown => (value === NONE ? null : value);

type ModelLimits = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;

const MEMBERS = { requests: 'requestsPerMinute', tokens: 'tokensPerMinute' } as const;

/** Parses the limits of a model, and adds them to those before. Names of models may contain colons. */
function readModelLimit(text: string, before: ModelLimits = {}): ModelLimits {
  const [, model, limits] = /^(.+):([^:]+)$/.exec(text) ?? [];
  if (model === undefined || limits === undefined) throw new InvalidArgumentError(EXPECTED_MODEL);
  if (limits === NONE) return { ...before, [model]: null };
  const own = limits.split(',').map((part) => {
    const [, name, count] = /^(requests|tokens)=(.*)$/.exec(part) ?? [];
    if (name === undefined) throw new InvalidArgumentError(EXPECTED_MODEL);
    return [MEMBERS[name as keyof typeof MEMBERS], orNull(readCount(count!))];
  });
  return { ...before, [model]: { ...before[model], ...Object.fromEntries(own) } };
}

const EXPECTED_MODEL =
  'Expected a model and its limits, such as acme-large:requests=10,tokens=20000 or acme-large:none.';

/** The limits that the options set; all others stay unchanged. */
export function readMinuteLimits({ requestsPerMinute, tokensPerMinute, modelLimit }: Record<string, unknown>) {
  return {
    requestsPerMinute: orNull(requestsPerMinute),
    tokensPerMinute: orNull(tokensPerMinute),
    modelLimits: modelLimit,
  };
}

/** One text for each limit, such as `60 requests a minute` and `10 requests a minute for acme-large`. */
export function describeMinuteLimits(limits: Maxima & Pick<AccountResponse, 'modelLimits'>): string[] {
  return [
    ...describeMaxima(limits),
    ...Object.entries(limits.modelLimits).flatMap(([model, own]) =>
      describeMaxima(own).map((text) => `${text} for ${model}`),
    ),
  ];
}

function describeMaxima({ requestsPerMinute, tokensPerMinute }: Maxima): string[] {
  return [
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests a minute`]),
    ...(tokensPerMinute === null ? [] : [`${tokensPerMinute} tokens a minute`]),
  ];
}
