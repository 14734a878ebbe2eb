import { z } from 'zod';
import { recordingInForce } from '../../accounting/accounts/recording.ts';
import { factorInForce } from '../../accounting/pricing/price-factor.ts';
import { lowestCap } from '../../accounting/reservations/limits/daily-cap.ts';
import { compileRateDefaults, type RateMaxima, usualMaxima } from '../../accounting/reservations/rate-defaults.ts';
import type { Config } from '../../config/schema.ts';
import { groupFactorOf } from '../../providers/catalog/account-group.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { yuan } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import {
  accountResponse,
  capYuan,
  rateLimits,
  rateLimitsToWire,
  recording,
  shortText,
  yuanOrNull,
} from '../management/wire.ts';
import { type AccountAdminDependencies, accountReader, email } from './admin.ts';
import { buyer } from './buyer.ts';
import { underPresentNames } from './rate-limits.ts';
import { requireAccount } from './require-account.ts';

type OwnAccountDependencies = Pick<
  AccountAdminDependencies,
  'accounts' | 'accountChanges' | 'ledger' | 'rateLimits' | 'periods' | 'catalog'
> & { readonly config: () => Config };

const everybodySees = { id: true, name: true, verified: true, status: true, createdAt: true } as const;

/** The billing time zone, by which days and months are counted. It can differ from the caller's. */
const billingCalendar = {
  timezone: z.string().describe('The billing time zone.'),
  today: z.iso.date().describe('The current day in the billing time zone. Daily caps and usage sums use this day.'),
};

const memberAccount = accountResponse
  .pick(everybodySees)
  .extend({ ...billingCalendar, role: z.literal('member') })
  .meta({ id: 'AccountOfMember' });

const ownerAccount = accountResponse
  .pick({
    ...everybodySees,
    email: true,
    balanceYuan: true,
    heldYuan: true,
    spentTodayYuan: true,
    dailySpendCapYuan: true,
    ownDailySpendCapYuan: true,
    priceFactorBasisPoints: true,
    membersSeeBalance: true,
    recording: true,
    buyer: true,
  })
  .extend({
    ...billingCalendar,
    recordingInForce: recording.describe('What is recorded of callers, by the account or the configuration.'),
    role: z.literal('owner'),
    dailySpendCapInForceYuan: yuan.nullable().describe('The lowest cap that applies; null: none.'),
  })
  .meta({ id: 'AccountOfOwner' });

const accountChange = z.strictObject({
  name: shortText.optional(),
  email: email.optional(),
  /** The account's own cap; `null` removes it. The operator's cap stays. */
  ownDailySpendCapYuan: capYuan.nullable().optional(),
  /** Whether keys of members can read the balance. If not, they read what is left of their own budgets. */
  membersSeeBalance: z.boolean().optional(),
  /** What the account records of its callers. What the configuration records is recorded anyway. */
  recording: recording.partial().optional(),
  /** Who receives statements, receipts and invoices; `null` removes it. */
  buyer: buyer.nullable().optional(),
});

const limitsInForce = z.strictObject(rateLimits).meta({ id: 'LimitsInForce' });

export function ownAccountEndpoints(dependencies: OwnAccountDependencies): AccountEndpoint[] {
  const { accounts, accountChanges, ledger, rateLimits: rateStore, periods, catalog, config } = dependencies;
  const { read } = accountReader(dependencies);

  const calendar = () => ({ timezone: config().billing.timezone, today: periods().today });

  async function readOwn(accountId: string) {
    const balance = (await ledger.findBalances([accountId], periods())).get(accountId);
    const account = await read(accountId);
    const { group } = catalog().of(account.groupId);
    const usualNano = group?.limits?.dailyCapNano ?? config().billing.dailySpendCapYuan ?? null;
    const capNano = lowestCap(balance?.dailyCapNano ?? usualNano, balance?.ownDailyCapNano ?? null);
    return shown(ownerAccount, {
      ...account,
      priceFactorBasisPoints: factorInForce(account.priceFactorBasisPoints, groupFactorOf(group)),
      dailySpendCapInForceYuan: yuanOrNull(capNano),
      recordingInForce: recordingInForce(account.recording, config().recording),
      ...calendar(),
      role: 'owner',
    });
  }

  /** Returns limits per minute. For each one that the account lacks, that of its group or the configuration applies. */
  async function limitsOf(accountId: string) {
    const stored = (await rateStore.ofAccounts([accountId])).get(accountId);
    const own = stored && underPresentNames(stored, catalog());
    const { groupId } = await requireAccount(accounts, accountId);
    const ofGroup = catalog().of(groupId).group?.limits ?? null;
    const usual = compileRateDefaults(config());
    const names = new Set([...(usual?.models.keys() ?? []), ...(own?.models.keys() ?? [])]);
    const models = [...names].sort().map((name) => {
      return [name, inForce(own?.models.get(name), usual?.models.get(name))] as const;
    });
    return rateLimitsToWire({ ...inForce(own, usualMaxima(ofGroup, usual)), models: new Map(models) });
  }

  return [
    accountEndpoint({
      method: 'GET',
      path: '/account',
      summary: 'Read the account: its status and, for owners, balance, reserved amount, spend today and caps',
      needs: 'member',
      response: z.union([ownerAccount, memberAccount]),
      async run(_input, { scope }) {
        if (scope.role === 'owner') return readOwn(scope.accountId);
        return shown(memberAccount, { ...(await read(scope.accountId)), ...calendar(), role: 'member' });
      },
    }),
    accountEndpoint({
      method: 'PATCH',
      path: '/account',
      subject: { kind: 'account', named: (_input, { scope }) => scope.accountId, read: readOwn },
      summary:
        'Change the name, the e-mail address, the account’s own daily cap, the buyer’s details, whether members see the balance, or what is recorded of callers',
      needs: 'owner',
      body: accountChange,
      response: ownerAccount,
      async run({ body: { ownDailySpendCapYuan, ...change } }, { scope: { accountId } }) {
        const fields = Object.keys(change).length > 0 ? change : undefined;
        await accountChanges.change(accountId, { fields, ownDailyCapNano: ownDailySpendCapYuan });
        return readOwn(accountId);
      },
    }),
    accountEndpoint({
      method: 'GET',
      path: '/limits',
      summary: 'Read the limits per minute that apply to the account',
      needs: 'member',
      response: limitsInForce,
      run: (_input, { scope }) => limitsOf(scope.accountId),
    }),
  ];
}

function inForce(own: RateMaxima | undefined, usual: RateMaxima | undefined): RateMaxima {
  return {
    requestsMax: own?.requestsMax ?? usual?.requestsMax ?? null,
    tokensMax: own?.tokensMax ?? usual?.tokensMax ?? null,
  };
}
