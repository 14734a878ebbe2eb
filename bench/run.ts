import type { PeerKind } from './peers/peer.ts';
import type { ScenarioResult } from './report.ts';
import { type Duration, runRounds } from './rounds.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';
import { DATABASE_KINDS, type SpreadDatabase, startBare, startGateway, type Target, type Version } from './targets.ts';
import { startTranslating } from './translating-target.ts';

/** Targets in addition to the bare proxy. */
export interface Contenders {
  readonly versions: readonly Version[];
  readonly peers: readonly PeerKind[];
  /** The version that is measured last. */
  readonly spread?: readonly SpreadDatabase[];
}

/** Measures a group of scenarios that share an address, on newly started targets, so that groups do not influence each other. */
export async function runScenarios(
  stage: Stage,
  scenarios: readonly Scenario[],
  { versions, peers, spread = [] }: Contenders,
  duration: Duration,
  tell: (line: string) => void,
): Promise<ScenarioResult[]> {
  const [scenario] = scenarios;
  if (scenario === undefined) return [];
  const targets: Target[] = [];
  try {
    if (scenario.isTranslated) {
      for (const version of versions) targets.push(...(await startTranslating(stage, scenario, version)));
      return await runRounds(stage, scenarios, targets, duration, tell);
    }
    if (scenario.isPassedOn) targets.push(await startBare(stage, scenario));
    for (const kind of DATABASE_KINDS) {
      for (const version of versions) targets.push(await startGateway(stage, scenario, kind, version));
    }
    for (const database of spread) targets.push(await startGateway(stage, scenario, database, versions.at(-1)!));
    for (const peer of peers) {
      if (peer.serves(scenario.kind)) targets.push(await peer.start(stage, scenario));
    }
    return await runRounds(stage, scenarios, targets, duration, tell);
  } finally {
    for (const target of targets) await target.stop();
  }
}
