import { parseArgs } from 'node:util';
import { type GivenPeer, parsePeer } from './peers/given.ts';
import type { Duration } from './rounds.ts';
import { DEFAULT_SCENARIOS, parseScenarios, type Scenario } from './scenarios.ts';
import type { SpreadDatabase } from './targets.ts';

/** Options of `npm run bench`. */
export interface Options {
  /** Groups of scenarios. A group uses one address, and its scenarios are measured on the same targets. */
  readonly groups: readonly (readonly Scenario[])[];
  readonly duration: Duration;
  /** The root of another checkout, measured in turns with this one; `null` if there is none. */
  readonly before: string | null;
  /** Names of peers that the bench starts. */
  readonly peers: readonly string[];
  readonly givenPeers: readonly GivenPeer[];
  /** Additional databases with several partitions. */
  readonly spread: readonly SpreadDatabase[];
  readonly providerPort: number;
  /** Directory for CPU profiles; `null` for none. */
  readonly profile: string | null;
  readonly isJson: boolean;
  readonly isGate: boolean;
  readonly isRecorded: boolean;
}

/** The gate measures CPU per call, and CPU per chunk and memory per stream. */
const GATE_GROUPS = ['chat-64,streams-500'];
const GATE_DURATION: Duration = { rounds: 2, seconds: 1, warmUp: { seconds: null, atMostSeconds: 2 } };
const DURATION: Duration = { rounds: 3, seconds: 3, warmUp: { seconds: null, atMostSeconds: 20 } };

/** Conflicting options, with the reason and what to do. */
const CONFLICTS = [
  ['gate', 'scenario', 'the gate has scenarios of its own; leave out one of the two'],
  ['gate', 'before', 'the gate compares with the last recorded run; compare versions without --gate'],
  ['gate', 'peers', 'the gate measures no peers; measure them without --gate'],
  ['gate', 'peer', 'the gate measures no peers; measure them without --gate'],
  ['gate', 'partitions', 'the gate measures one partition; measure several without --gate'],
  ['gate', 'profile', 'a profile slows all down; write one without --gate'],
  ['record', 'before', 'what is recorded are figures of one version; leave out one of the two'],
  ['record', 'profile', 'a profile slows all down; record without --profile'],
] as const;

/** Exits with a message and code 2 if options are invalid. */
export function orExit<Read>(read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

/** @throws Error that names a wrong option and what is expected */
export function parseOptions(args: readonly string[], peerNames: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scenario: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      before: { type: 'string' },
      peers: { type: 'string' },
      peer: { type: 'string', multiple: true },
      partitions: { type: 'string' },
      citus: { type: 'string' },
      'provider-port': { type: 'string' },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
    },
  });
  const isGate = values.gate;
  for (const [one, other, why] of CONFLICTS) {
    if (values[one] && values[other] !== undefined) throw new Error(`--${one} and --${other}: ${why}.`);
  }
  return {
    groups: isGate
      ? GATE_GROUPS.map(parseScenarios)
      : parseScenarios(values.scenario ?? DEFAULT_SCENARIOS).map((scenario) => [scenario]),
    duration: parseDuration(values, isGate ? GATE_DURATION : DURATION),
    before: values.before ?? null,
    peers: parsePeers(values.peers ?? (isGate ? 'none' : 'floor,nginx'), peerNames),
    givenPeers: (values.peer ?? []).map(parsePeer),
    spread: parseSpread(values.partitions, values.citus),
    providerPort: parseNumber('provider-port', values['provider-port'], 0),
    profile: values.profile ?? null,
    isJson: values.json,
    isGate,
    isRecorded: values.record,
  };
}

interface DurationValues {
  readonly rounds?: string | undefined;
  readonly seconds?: string | undefined;
  readonly 'warm-up'?: string | undefined;
}

/** @throws Error if one of them is not a number above zero */
export function parseDuration(values: DurationValues, usual: Duration): Duration {
  return {
    rounds: Math.ceil(parseNumber('rounds', values.rounds, usual.rounds)),
    seconds: parseNumber('seconds', values.seconds, usual.seconds),
    warmUp: { ...usual.warmUp, seconds: parseNumber('warm-up', values['warm-up'], usual.warmUp.seconds) },
  };
}

/** @throws Error if it is given and not a number above zero */
export function parseNumber<Usual extends number | null>(
  option: string,
  text: string | undefined,
  usual: Usual,
): number | Usual {
  if (text === undefined) return usual;
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) === 0) {
    throw new Error(`--${option}: expected a number above zero; found "${text}".`);
  }
  return Number(text);
}

function parseSpread(partitions: string | undefined, citus: string | undefined): readonly SpreadDatabase[] {
  if (partitions === undefined) {
    if (citus !== undefined) throw new Error('--citus: say with --partitions how many partitions it gets.');
    return [];
  }
  const counts = partitions.split(',').map((count) => parseNumber('partitions', count, 0));
  return counts.flatMap((count) => {
    const of = (server: string, url: string | null) => ({
      name: `${server}, ${count} partitions`,
      partitions: count,
      url,
    });
    return citus === undefined ? [of('PostgreSQL', null)] : [of('PostgreSQL', null), of('Citus', citus)];
  });
}

function parsePeers(list: string, known: readonly string[]): readonly string[] {
  if (list === 'none') return [];
  if (list === 'all') return known;
  const names = list.split(',');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`--peers: expected all, none, or some of ${known.join(', ')}; found "${unknown}".`);
  }
  return names;
}
