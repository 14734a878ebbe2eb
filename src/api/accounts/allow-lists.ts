import { z } from 'zod';
import { ALLOWED_MAX, type AllowListChange, type AllowLists } from '../../accounting/accounts/allow-lists.ts';
import { didYouMean } from '../../config/suggest.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { formatAddressRange, parseAddressRange } from '../../lib/ip-address.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { shortText } from '../management/wire.ts';

const network = shortText.transform((text, context) => {
  const range = parseAddressRange(text);
  if (range !== null) return formatAddressRange(range);
  context.addIssue({
    code: 'custom',
    message: 'Expected an address or a range of addresses, such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32.',
  });
  return z.NEVER;
});

/** A list that must not be empty, because an empty one could mean that nothing or that everything is allowed. */
const listOf = <Item extends z.ZodType<string>>(item: Item, what: string) =>
  z
    .array(item, { error: `Expected a list of ${what}, or null for no allow-list.` })
    .min(1, `Specify at least one of the ${what}, or null for no allow-list.`)
    .max(ALLOWED_MAX, `At most ${ALLOWED_MAX} ${what}.`)
    .nullish();

/** Allow-lists in a request. `null` removes a list; an absent field leaves it unchanged. */
export const allowListFields = {
  allowedModels: listOf(shortText, 'models'),
  allowedNetworks: listOf(network, 'networks'),
};

interface AskedLists {
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly allowedNetworks?: readonly string[] | null | undefined;
}

/**
 * Converts a body to a change with canonical model ids. Ids that the key already has are accepted even if they are no longer configured, so
 * that a client can send a list back unchanged.
 */
export function toAllowListChange(
  { allowedModels, allowedNetworks }: AskedLists,
  { models: current }: AllowLists,
  catalog: Catalog,
): AllowListChange {
  const models = allowedModels?.map((name) => {
    const model = catalog.find(name);
    if (model !== null) return model.id;
    if (current?.includes(name)) return name;
    throw unknownModel(name, catalog);
  });
  return {
    models: models === undefined ? (allowedModels as null | undefined) : [...new Set(models)],
    networks: allowedNetworks && [...new Set(allowedNetworks)],
  };
}

function unknownModel(name: string, { models }: Catalog) {
  const suggestion = didYouMean(
    name,
    models.map(({ id }) => id),
  );
  return invalidRequest(
    `allowedModels: There is no model ${JSON.stringify(name)} that may be called.${suggestion}`,
    'allowedModels',
  );
}
