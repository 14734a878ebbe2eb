import { z } from 'zod';
import { budgetedName, budgetId } from '../../accounting/accounts/budget-ids.ts';
import {
  BUDGETED_MODELS_MAX,
  type ModelBudgetChange,
  type ModelBudgets,
  NO_BUDGET,
  TooManyBudgetsError,
} from '../../accounting/accounts/model-budget-store.ts';
import type { OwnerUse } from '../../accounting/reservations/limits/key-day.ts';
import { didYouMean } from '../../config/suggest.ts';
import { type GatewayError, invalidRequest, quoted } from '../../errors/gateway-error.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { filterText } from '../management/wire.ts';
import { limitsIn, membersOf, rowsToWire, SPEND_CAPS, spendToWire, usedSpend } from './limit-rows.ts';

/** Budgets of a key or a member for single models, for both APIs. */

const TOO_MANY = `At most ${BUDGETED_MODELS_MAX} models may have budgets of their own.`;
const KNOWN_MAX = 20;

const askedCaps = z.strictObject(membersOf(SPEND_CAPS, 'asked'));

/** `null` removes a budget, or all budgets of a model; absent ones stay unchanged. */
export const askedModelBudgets = {
  modelBudgets: z
    .record(filterText, askedCaps.nullable())
    .refine((models) => Object.keys(models).length <= BUDGETED_MODELS_MAX, TOO_MANY)
    .optional(),
};

type AskedBudgets = z.infer<z.ZodObject<typeof askedModelBudgets>>;

export const shownModelBudgets = {
  modelBudgets: z
    .record(z.string(), z.strictObject(membersOf(SPEND_CAPS, 'shown')))
    .describe('Budgets for single models, by model id, in addition to those for all models.'),
};

export const usedByModelMember = {
  usedByModel: z
    .record(z.string(), z.strictObject(usedSpend))
    .describe('The usage of the budgets for single models, by model id.'),
};

/** @throws GatewayError `invalidRequest` if a budget is set for an unknown model */
export function toBudgetChanges({ modelBudgets = {} }: AskedBudgets, catalog: Catalog): ModelBudgetChange[] {
  return Object.entries(modelBudgets).map(([name, asked]) => {
    const caps = asked === null ? NO_BUDGET : limitsIn(SPEND_CAPS, asked);
    const model = catalog.find(name);
    if (model === null && Object.values(caps).some((cap) => cap != null)) throw unknownModel(name, catalog);
    return { model: model ?? { id: name, aliases: [] }, caps };
  });
}

function unknownModel(name: string, { models }: Catalog): GatewayError {
  const ids = models.map(({ id }) => id);
  const others = ids.length > KNOWN_MAX ? ` and ${ids.length - KNOWN_MAX} others` : '';
  const known = ` Known: ${ids.slice(0, KNOWN_MAX).join(', ')}${others}.`;
  const hint = didYouMean(name, ids) || known;
  return invalidRequest(`modelBudgets: There is no model "${quoted(name)}".${hint}`, 'modelBudgets');
}

/** @throws GatewayError `invalidRequest` if the owner would have budgets for too many models */
export async function orTooManyBudgets<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TooManyBudgetsError) throw invalidRequest(`modelBudgets: ${TOO_MANY}`, 'modelBudgets');
    throw error;
  }
}

export function modelBudgetsToWire(budgets: ModelBudgets, catalog: Pick<Catalog, 'find'>) {
  const shown = inForce(budgets, catalog).map(
    ({ id, name }) => [id, rowsToWire(SPEND_CAPS, budgets.get(name)!)] as const,
  );
  return Object.fromEntries(shown);
}

/** A key as the owner of budgets. */
export const ownerOf = ({ accountId, id }: { readonly accountId: string; readonly id: string }) => ({
  accountId,
  ownerId: id,
});

/** The ids under which the usage of budgets is counted. */
export function budgetIdsIn(budgetsOf: ReadonlyMap<string, ModelBudgets>): string[] {
  return [...budgetsOf].flatMap(([ownerId, budgets]) => [...budgets.keys()].map((name) => budgetId(ownerId, name)));
}

export function usedByModelToWire(
  ownerId: string,
  budgets: ModelBudgets,
  uses: ReadonlyMap<string, OwnerUse>,
  catalog: Pick<Catalog, 'find'>,
) {
  const used = inForce(budgets, catalog).flatMap(({ id, name }) => {
    const use = uses.get(budgetId(ownerId, name));
    return use === undefined ? [] : [[id, spendToWire(use)] as const];
  });
  return Object.fromEntries(used);
}

/** Budgets are shown under the present id of a model. `name`: the id under which they are stored. */
function inForce(
  budgets: ModelBudgets,
  catalog: Pick<Catalog, 'find'>,
): { readonly id: string; readonly name: string }[] {
  const models = [...budgets.keys()].map((name) => catalog.find(name) ?? { id: name, aliases: [] });
  return [...new Map(models.map((model) => [model.id, model])).values()].map((model) => ({
    id: model.id,
    name: budgetedName(model, (each) => budgets.has(each))!,
  }));
}
