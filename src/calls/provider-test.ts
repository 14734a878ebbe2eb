import { chargeCall } from '../accounting/pricing/call-charge.ts';
import { chargeBasis } from '../accounting/pricing/charge.ts';
import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../accounting/pricing/price-factor.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { Clock } from '../lib/clock.ts';
import type { ProtocolName } from '../protocols/all.ts';
import { captureWhole } from '../protocols/metering/response.ts';
import type { UsageFacts } from '../protocols/metering/usage-facts.ts';
import { type JsonOperationName, jsonOperationOf } from '../protocols/operations/all.ts';
import { splice } from '../protocols/operations/json-operation.ts';
import type { CallInput, JsonOperation } from '../protocols/operations/operation.ts';
import { type MemberParameters, parameterChanges } from '../protocols/parameters/parameters.ts';
import type { Catalog, Model, Route } from '../providers/catalog/catalog.ts';
import type { Provider } from '../providers/upstream/provider.ts';
import { scrub } from '../providers/upstream/secrets.ts';
import { sendTestCall, TEST_BODY_BYTES_MAX } from './test-call.ts';

interface ProviderTestDependencies {
  readonly provider: Provider;
  /** Secrets, in the order of the configuration. */
  readonly credentials: readonly { readonly name: string; readonly value: string }[];
  readonly catalog: Catalog;
  /** Header names that clients may use for the provider's protocol. */
  readonly mountedNames: readonly string[];
  readonly clock: Clock;
  /** Time limit for the test of each credential. The provider's own timeouts apply too. */
  readonly limitMs?: number;
}

interface CredentialTest {
  /** The configuration path: `apiKey`, `apiKeys.0`. */
  readonly credential: string;
  readonly isSuccess: boolean;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly firstByteMs: number | null;
  /** The message contains no secrets. */
  readonly message: string | null;
  readonly usage: UsageFacts | null;
  /** The charge at the list price; `null`: the call has no price. */
  readonly chargeNano: bigint | null;
}

export interface ProviderTest {
  readonly operation: string;
  /** `null` if the catalog has no model of this name. */
  readonly model: string | null;
  readonly providerModel: string;
  readonly priceRule: string | null;
  readonly results: readonly CredentialTest[];
}

/** Requests allow 1 output token, or 16 where vendors refuse fewer. Images cost their full price, so they are tested only on request. */
const BODIES: Readonly<Partial<Record<JsonOperationName, (model: string) => object>>> = {
  chat: (model) => ({ model, messages: [{ role: 'user', content: 'ping' }], max_tokens: 1 }),
  messages: (model) => ({ model, messages: [{ role: 'user', content: 'ping' }], max_tokens: 1 }),
  responses: (model) => ({ model, input: 'ping', max_output_tokens: 16, store: false }),
  completions: (model) => ({ model, prompt: 'ping', max_tokens: 1 }),
  embeddings: (model) => ({ model, input: 'ping' }),
  rerank: (model) => ({ model, query: 'ping', documents: ['pong'], top_n: 1 }),
  'images.generate': (model) => ({ model, prompt: 'A black dot.', n: 1 }),
};
const BY_DEFAULT = (Object.keys(BODIES) as JsonOperationName[]).filter((name) => name !== 'images.generate');

/** Reasoning models refuse `max_tokens`; their error message names this field, which replaces it. */
const OTHER_LIMIT = 'max_completion_tokens';

const LIMIT_MS = 60_000;

/**
 * Sends the smallest possible call with each credential. Nobody is charged, and breakers and credential states stay as they are.
 * @throws GatewayError `invalidRequest` if there is nothing to test
 */
export async function testProvider(
  asked: { readonly model: string | null; readonly operation: string | null },
  dependencies: ProviderTestDependencies,
): Promise<ProviderTest> {
  const { provider, catalog, credentials, clock } = dependencies;
  const { model, providerModel, parameters } = findTestedModel(asked.model, provider, catalog);
  const operation = findOperation(asked.operation, model, provider);
  const price = model === null ? null : priceInForce(model.price, clock.nowMs());
  const results: CredentialTest[] = [];
  // Concurrent calls could reach a rate limit.
  for (const credential of credentials) {
    const tested = { credential, operation, model, providerModel, parameters, price };
    results.push(await testCredential({ ...dependencies, ...tested }));
  }
  const priceRule = price?.rule ?? null;
  return { operation: operation.name, model: model?.id ?? null, providerModel, priceRule, results };
}

/** Finds a model by its name, or by the provider's name of it; with `null`, the first one that the provider serves. */
export function findTestedModel(name: string | null, provider: Provider, catalog: Catalog) {
  const protocol = provider.protocol.name as ProtocolName;
  const ofProvider = ({ providerId }: Route): boolean => providerId === provider.id;
  const routeOf = (model: Model) => model.routes[protocol].find(ofProvider);
  if (name === null) {
    const served = catalog.models.filter((model) => routeOf(model) !== undefined);
    const model = served.find((each) => defaultOperation(each, provider) !== null) ?? served[0];
    if (model !== undefined) return asRouted(model, routeOf(model)!);
    throw invalidRequest(
      `No model has a route to the provider ${provider.id}. Name one of the provider's models.`,
      'model',
    );
  }
  const known = catalog.find(name);
  const route = known === null ? undefined : routeOf(known);
  if (known !== null && route !== undefined) return asRouted(known, route);
  for (const model of catalog.models) {
    const found = model.routes[protocol].find((each) => ofProvider(each) && each.providerModel === name);
    if (found !== undefined) return asRouted(model, found);
  }
  return { model: null, providerModel: name, parameters: provider.parameters };
}

function asRouted(model: Model, { providerModel, parameters = [] }: Route) {
  return { model, providerModel, parameters };
}

function defaultOperation(model: Model | null, { id, protocol }: Provider): JsonOperationName | null {
  const names = BY_DEFAULT.filter((name) => jsonOperationOf(name).protocol.name === protocol.name);
  if (model === null) return names[0] ?? null;
  const offered = names.find((name) => [...model.operations].some((operation) => operation.name === name));
  if (offered !== undefined) return offered;
  // A route that only translates serves none of the model's operations natively.
  const routes = [...(model.routesByOperation?.values() ?? [])].flat();
  return (
    routes.find(({ providerId, translation }) => providerId === id && translation)?.translation?.target.form ?? null
  );
}

function findOperation(name: string | null, model: Model | null, provider: Provider): JsonOperation {
  const chosen = name ?? defaultOperation(model, provider);
  const known = Object.keys(BODIES).filter((each) => jsonOperationOf(each).protocol.name === provider.protocol.name);
  if (chosen !== null && known.includes(chosen)) return jsonOperationOf(chosen);
  throw invalidRequest(
    chosen === null
      ? `No operation of this model is tested by default; name the operation: ${known.join(', ')}.`
      : `This operation cannot be tested at this provider. These can be tested: ${known.join(', ')}.`,
    'operation',
  );
}

interface CredentialDependencies extends ProviderTestDependencies {
  readonly credential: { readonly name: string; readonly value: string };
  readonly operation: JsonOperation;
  readonly model: Model | null;
  readonly providerModel: string;
  readonly parameters: readonly MemberParameters[];
  readonly price: PriceInForce | null;
}

async function testCredential(dependencies: CredentialDependencies): Promise<CredentialTest> {
  const { operation, providerModel } = dependencies;
  const body = BODIES[operation.name as JsonOperationName]!(providerModel) as Record<string, unknown>;
  const first = await send(dependencies, body);
  if (first.httpStatus !== 400 || body.max_tokens === undefined || !first.message?.includes(OTHER_LIMIT)) return first;
  const { max_tokens: _refused, ...others } = body;
  return send(dependencies, { ...others, [OTHER_LIMIT]: 16 });
}

async function send(dependencies: CredentialDependencies, body: object): Promise<CredentialTest> {
  const { credential, operation, providerModel, limitMs = LIMIT_MS } = dependencies;
  const written = Buffer.from(JSON.stringify(body));
  const bytes = splice(written, parameterChanges(written, dependencies.parameters)?.splices ?? []);
  const input = operation.toInput(operation.read(bytes), bytes);
  const call = { credential: credential.value, path: operation.upstreamPath, input, model: providerModel, limitMs };
  const { head, body: response, message, durationMs, firstByteMs } = await sendTestCall(call, dependencies);
  const { hidden } = dependencies.provider;
  const result = message === null ? readResponse(dependencies, input, response) : refused(message);
  return {
    credential: credential.name,
    isSuccess: result.message === null,
    httpStatus: head?.status ?? null,
    durationMs,
    firstByteMs,
    ...result,
    message: result.message === null ? null : scrub(result.message, hidden.texts),
  };
}

type Result = Pick<CredentialTest, 'message' | 'usage' | 'chargeNano'>;

function refused(message: string): Result {
  return { message, usage: null, chargeNano: null };
}

function readResponse(dependencies: CredentialDependencies, input: CallInput, bytes: Buffer): Result {
  const { operation, model, providerModel, price } = dependencies;
  const { keep, keepMarked, count, holding } = input.response;
  const response = captureWhole(bytes, { keep, keepMarked, count, holding, keptBytesMax: TEST_BODY_BYTES_MAX });
  if (response === null) return refused('The response is not a JSON object.');
  const basis = price === null ? operation.charge[0].basis : chargeBasis(operation, price.prices);
  const observed = input.response.usage(response, basis);
  if (observed === null) {
    return refused('The response lacks the usage that a charge needs, or is not a response of this operation.');
  }
  const usage: UsageFacts = { ...observed, source: 'observed' };
  if (model === null || price === null) return { message: null, usage, chargeNano: null };
  const charge = chargeCall(usage, {
    model,
    prices: price.prices,
    basis,
    inner: [],
    ownNames: [providerModel, model.id],
    input,
    isPaid: true,
    priceFactorBasisPoints: LIST_PRICE_BASIS_POINTS,
    cost: null,
  });
  return { message: null, usage: charge.usage, chargeNano: charge.chargeNano };
}
