import type { DialectConfig } from '../../config/dialect-schema.ts';
import { presetAt } from '../../config/presets.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { EFFORTS } from '../../protocols/translation/dialect.ts';
import type { ProviderFormName } from '../../protocols/translation/pairs.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import type { Provider } from '../../providers/upstream/provider.ts';
import { findTestedModel } from '../provider-test.ts';
import { type DialectTrial, DialectTrials } from './dialect-trials.ts';
import { followsSchema, repairedDialect, requiredReplay, toolTurns } from './trial-answers.ts';
import { QUESTION, TOOL_QUESTION, type TrialRequest } from './trial-requests.ts';

interface DialectSearchDependencies {
  readonly provider: Provider;
  readonly baseUrl: string;
  /** Secrets, in the order of the configuration. The first one is used. */
  readonly credentials: readonly { readonly name: string; readonly value: string }[];
  readonly catalog: Catalog;
  readonly mountedNames: readonly string[];
  readonly clock: Clock;
}

export interface DialectSearch {
  readonly protocol: ProviderFormName;
  /** `null` if the catalog has no model of this name. */
  readonly model: string | null;
  readonly providerModel: string;
  readonly trials: readonly DialectTrial[];
  /** The dialect with which all steps succeeded; `null`: there is none. Keys with their defaults are absent. */
  readonly dialect: DialectConfig | null;
}

const REPAIRS_MAX = 3;

/**
 * Finds the dialect of a provider with a question, a question with reasoning, the call of a tool with its result, and an answer of a JSON
 * schema: at most about a dozen small calls. Nobody is charged, and breakers and credential states stay as they are.
 * @throws GatewayError `invalidRequest` if there is nothing to test
 */
export async function searchDialect(
  modelName: string | null,
  dependencies: DialectSearchDependencies,
): Promise<DialectSearch> {
  const { provider, baseUrl, catalog, credentials } = dependencies;
  const { model, providerModel } = findTestedModel(modelName, provider, catalog);
  const [credential] = credentials;
  if (credential === undefined) throw invalidRequest(`The provider ${provider.id} has no credential.`);
  const protocol = provider.protocol.name as ProviderFormName;
  const outputTokensMax = model?.outputTokensMax ?? null;
  const trials = new DialectTrials({ ...dependencies, credential: credential.value, providerModel, outputTokensMax });
  const documented = presetAt(baseUrl)?.preset.providers.find((each) => each.protocol === protocol)?.dialect;
  const dialect = await (protocol === 'chat' ? chatDialect(trials, documented?.reasoning) : messagesDialect(trials));
  return { protocol, model: model?.id ?? null, providerModel, trials: trials.done, dialect };
}

type Reasoning = DialectConfig['reasoning'];

/** @param documented how the vendor at this address documents that reasoning is asked for */
async function chatDialect(trials: DialectTrials, documented: Reasoning): Promise<DialectConfig | null> {
  const plain = await plainDialect(trials);
  if (plain === null) return null;
  const { dialect: start, shown } = plain;
  const reasoning = await chatReasoning(trials, start, { reasons: shown.isShown, documented });
  const replay = await replayOf(trials, { ...start, ...reasoning });
  if (replay === null) return null;
  const dialect = { ...start, ...reasoning, ...replay };
  const takes: DialectConfig['takes'] = ['json_schema'];
  const formed = await trials.ask(
    'takes: [json_schema]',
    { ...dialect, takes },
    { prompt: QUESTION, reasons: null, hasSchema: true },
    ({ answer }) => (followsSchema(answer) ? null : 'The response does not follow the schema.'),
  );
  return formed === null ? dialect : { ...dialect, takes };
}

async function messagesDialect(trials: DialectTrials): Promise<DialectConfig | null> {
  const plain = await plainDialect(trials);
  if (plain === null) return null;
  const accepted: DialectConfig[] = [];
  for (const thinking of ['adaptive', 'budget'] as const) {
    const dialect = { ...plain.dialect, thinking };
    const answer = await trials.ask(
      `thinking: ${thinking}`,
      dialect,
      { prompt: QUESTION, reasons: true },
      ({ shown }) => {
        // A model that decides itself may find the question too easy.
        accepted.push(dialect);
        return shown.isShown ? null : 'The response shows no reasoning.';
      },
    );
    if (answer !== null) {
      accepted.splice(0, accepted.length, dialect);
      break;
    }
  }
  for (const dialect of [...accepted, plain.dialect]) {
    const called = await callTool(trials, dialect);
    if (called === null) continue;
    const request = { ...called.request, turns: called.turns };
    if ((await trials.ask('the result of a tool', dialect, request)) !== null) return dialect;
  }
  return null;
}

/** A dialect with which a question without reasoning is answered. Refusals that name a field change it. */
async function plainDialect(trials: DialectTrials) {
  let dialect: DialectConfig = {};
  for (let repairs = 0; repairs <= REPAIRS_MAX; repairs++) {
    const answer = await trials.ask(nameOf(dialect), dialect, { prompt: QUESTION, reasons: null, temperature: 0.5 });
    if (answer !== null) return { dialect, shown: answer.shown };
    const repaired = repairedDialect(dialect, trials.lastWords);
    if (repaired === null) return null;
    dialect = repaired;
  }
  return null;
}

function nameOf({ maxTokens, drops = [] }: DialectConfig): string {
  const parts = [
    ...(maxTokens === undefined ? [] : [`maxTokens: ${maxTokens}`]),
    ...(drops.length === 0 ? [] : [`drops: [${drops.join(', ')}]`]),
  ];
  return parts.join(', ') || 'defaults';
}

/** Efforts in the trial: `none` is the one that turns reasoning off. */
const WITH_NONE = EFFORTS.filter((effort) => ['none', 'low', 'medium', 'high'].includes(effort));

/**
 * Finds the field that turns reasoning off if the model reasons by itself, and on otherwise. Many providers ignore fields that they do not
 * know, so that only a change of the response shows which one they read.
 */
async function chatReasoning(
  trials: DialectTrials,
  plain: DialectConfig,
  { reasons, documented }: { readonly reasons: boolean; readonly documented: Reasoning },
): Promise<DialectConfig> {
  const known = ['effort', 'thinking', 'enable_thinking', 'openrouter', 'template'] as const;
  const ordered = [...known].sort((one, other) => Number(other === documented) - Number(one === documented));
  for (const reasoning of ordered) {
    const tried = { reasoning, ...(reasoning === 'effort' && reasons && { efforts: WITH_NONE }) };
    const answer = await trials.ask(
      `reasoning: ${reasoning}`,
      { ...plain, ...tried },
      { prompt: QUESTION, reasons: !reasons },
      ({ shown }) =>
        shown.isShown !== reasons ? null : reasons ? 'The model still reasons.' : 'The response shows no reasoning.',
    );
    if (answer !== null) return tried;
  }
  // The model cannot stop reasoning, or cannot reason. An effort that is accepted does no harm.
  if (!reasons) return {};
  const effort = { reasoning: 'effort' } as const;
  const answer = await trials.ask('reasoning: effort', { ...plain, ...effort }, { prompt: QUESTION, reasons: true });
  return answer === null ? {} : effort;
}

/** The member in which the reasoning before a call of a tool returns to the provider; `null` if there is no successful way. */
async function replayOf(trials: DialectTrials, dialect: DialectConfig): Promise<DialectConfig | null> {
  const called = await callTool(trials, dialect);
  if (called === null) return null;
  const candidates: NonNullable<DialectConfig['replay']>[] = [...called.shown.members, 'none'];
  for (const replay of candidates) {
    const chosen = replay === 'none' ? {} : { replay };
    const request = { ...called.request, turns: called.turns };
    if ((await trials.ask(`replay: ${replay}`, { ...dialect, ...chosen }, request)) !== null) return chosen;
    const required = requiredReplay(trials.lastWords);
    if (replay === 'none' && required !== null && !candidates.includes(required)) candidates.push(required);
  }
  return null;
}

async function callTool(trials: DialectTrials, dialect: DialectConfig) {
  const request: TrialRequest = { prompt: TOOL_QUESTION, reasons: true, hasTool: true };
  const answer = await trials.ask('a call of a tool', dialect, request, ({ answer }) =>
    toolTurns(trials.client, answer) === null ? 'The model did not call the tool.' : null,
  );
  return answer === null ? null : { request, shown: answer.shown, turns: toolTurns(trials.client, answer.answer)! };
}
