import { requireAllowedModel } from '../../calls/allowed-models.ts';
import type { Settings } from '../../calls/settings.ts';
import { type BodyLimits, type BodyOwner, readBody, requireJson } from '../../http/body.ts';
import type { Exchange } from '../../http/exchange.ts';
import { operationOf } from '../../protocols/operations/all.ts';
import { totalTokens } from '../../protocols/token-estimate/budgets.ts';
import { ESTIMATOR_VERSION } from '../../protocols/token-estimate/count-body.ts';
import { familyFactor } from '../../protocols/token-estimate/families.ts';
import { modelAbsence } from '../../providers/catalog/catalog.ts';
import { translatedFormOf } from '../../providers/catalog/translated-routes.ts';
import type { EstimateEndpoint } from './endpoint.ts';
import { EndpointHandler, type Visit } from './endpoint-handler.ts';

export class EstimateHandler extends EndpointHandler<EstimateEndpoint, Exchange> {
  protected override async respond({ served: exchange, settings, report, subject }: Visit<Exchange>): Promise<void> {
    const { path, credential, estimate } = this.endpoint;
    const { refusals, requestWorkers, bodyBudgets } = this.dependencies;
    const { request, response } = exchange;
    const principal = await refusals.identify(subject, path, credential, report);
    requireJson(request);
    // There is no precheck: estimates are free of charge, so neither balance nor limits matter.
    const owner: BodyOwner = { tenant: principal, budgets: bodyBudgets, look: null };
    const body = await readBody(request, response, this.#limits(settings), null, owner);
    const { model: name, count } = await requestWorkers
      .estimate(estimate.kind, body.bytes, principal)
      .finally(() => body.release());
    const catalog = settings.catalog.of(principal.groupId);
    const model = name === null ? null : catalog.find(name);
    report.modelAsked = name;
    report.model = model?.id ?? null;
    if (model === null && estimate.requiresModel) throw modelAbsence(name!);
    if (model !== null) requireAllowedModel(model, principal, catalog);
    const factor = model?.tokenFactor ?? familyFactor(model?.id ?? name ?? '');
    const served = model === null ? null : translatedFormOf(model, operationOf(estimate.kind));
    const counted = served === null ? count : { ...count, budgetTokens: count.translatedBudgetTokens[served] };
    const estimated = JSON.stringify(estimate.toResponse(totalTokens(counted, factor)));
    exchange.sendJson(200, estimated, { 'x-gateway-token-estimate': ESTIMATOR_VERSION });
  }

  /** Returns the limits of the body. At coding addresses, they include the plans' limit of input bytes (contract 4.4, 4.7). */
  #limits({ config, codingInputBytesMax }: Settings): BodyLimits {
    const { bodyLimitBytes, context } = this.endpoint;
    const idleTimeoutMs = config.server.uploadIdleTimeout;
    if (context === 'balance') return { sizeBytesMax: bodyLimitBytes, idleTimeoutMs };
    const sizeBytesMax = Math.min(bodyLimitBytes, codingInputBytesMax);
    const message = `The input exceeds the ${sizeBytesMax} bytes that the Coding Plan allows: prompt is too long.`;
    return { sizeBytesMax, idleTimeoutMs, tooLarge: { kind: 'packageInputTooLarge', message } };
  }
}
