import { startGatewayTarget } from './gateway-target.ts';
import type { CallShape } from './load/order.ts';
import type { MeterReading } from './meter.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';
import { gatewayOrder, type Target, type Version } from './targets.ts';

/** Below the gateway's default limit of concurrent calls to a provider, of which some are reserved for accounts with few calls. */
const AT_A_TIME_BY_DEFAULT = 400;

const MODELS = `  bench-from-chat:
    maxOutputTokens: "1000"
    operations: [messages, responses]
    price: { input: "1", output: "2" }
    routes: [{ provider: static, model: bench-upstream, translate: [messages, responses] }]
  bench-messages:
    maxOutputTokens: "1000"
    operations: [messages]
    price: { input: "1", output: "2" }
    routes: [{ provider: messages, model: bench-upstream }]
  bench-from-messages:
    maxOutputTokens: "1000"
    operations: [chat, responses]
    price: { input: "1", output: "2" }
    routes: [{ provider: messages, model: bench-upstream, translate: [chat, responses] }]`;

/** Each translated call, and before it the relayed one with the same provider. */
const PAIRS = [
  { name: 'chat, relayed', path: '/v1/chat/completions', model: 'bench-model' },
  { name: 'messages from chat', path: '/v1/messages', model: 'bench-from-chat', twin: 'chat, relayed' },
  { name: 'responses from chat', path: '/v1/responses', model: 'bench-from-chat', twin: 'chat, relayed' },
  { name: 'messages, relayed', path: '/v1/messages', model: 'bench-messages' },
  { name: 'chat from messages', path: '/v1/chat/completions', model: 'bench-from-messages', twin: 'messages, relayed' },
  { name: 'responses from messages', path: '/v1/responses', model: 'bench-from-messages', twin: 'messages, relayed' },
] as const;

/** Starts a gateway that relays and translates. Its targets are the calls of `PAIRS`, so that both run the same process. */
export async function startTranslating(
  stage: Stage,
  { request, response, size }: Scenario,
  { name: version, checkout }: Version,
): Promise<readonly Target[]> {
  const connections = size > AT_A_TIME_BY_DEFAULT ? size * 2 : undefined;
  const atATime = connections === undefined ? '' : `, connections: ${connections}`;
  const gateway = await startGatewayTarget({
    ...gatewayOrder(stage, checkout, await stage.createDatabase()),
    models: MODELS,
    providers: `, messages: { protocol: messages, baseUrl: "${stage.providerUrl}", apiKey: bench${atATime} }`,
    ...(connections !== undefined && { connections }),
  });
  let stopping: Promise<void> | null = null;
  return PAIRS.map(({ path, model, ...about }) => {
    const shape: CallShape = {
      url: gateway.url,
      path,
      model,
      request,
      response,
      keys: gateway.balanceKeys,
      headers: {},
    };
    return {
      ...about,
      version,
      call: shape,
      async read(order) {
        return { ...(await gateway.orders.ask<MeterReading>(order)), database: await stage.readDatabase() };
      },
      stop() {
        stopping ??= gateway.stop();
        return stopping;
      },
    };
  });
}
