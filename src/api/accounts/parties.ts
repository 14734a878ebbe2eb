import type { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { Config } from '../../config/schema.ts';
import type { buyerResponse, sellerResponse } from '../management/parties.ts';
import { requireAccount } from './require-account.ts';

export interface PartiesDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
  readonly config: () => Config;
}

export interface Parties {
  readonly accountName: string;
  readonly seller: z.infer<typeof sellerResponse> | null;
  readonly buyer: z.infer<typeof buyerResponse> | null;
}

/** Returns whom a statement or receipt names. @throws GatewayError 404 if there is no such account */
export async function partiesOf({ accounts, config }: PartiesDependencies, accountId: string): Promise<Parties> {
  const { name, buyer } = await requireAccount(accounts, accountId);
  return { accountName: name, seller: sellerOf(config()), buyer };
}

function sellerOf({ billing: { seller } }: Config): Parties['seller'] {
  if (seller === undefined) return null;
  const { name, taxNumber = null, address = null, logo = null } = seller;
  return { name, taxNumber, address, logo };
}
