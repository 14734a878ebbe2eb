import { Alert, Anchor, List } from '@mantine/core';
import { useRead } from '../../api/queries.ts';
import type { AccountOfMember, AccountOfOwner, UsedBudget } from '../../api/types.ts';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { toNano } from '../../text/yuan.ts';
import { overviewTexts } from './texts.ts';

/** Share of the daily cap at which it is shown. */
const CAP_PERCENT = 80;

/** Budgets that are nearly or completely used: of the user's keys and membership or, for owners, all of the account. */
export function UsedBudgets({ account }: { readonly account: AccountOfOwner | AccountOfMember }) {
  const text = useTexts(overviewTexts);
  const format = useFormat();
  const budgets = useRead('GET /account/v1/used-budgets', {}, { isLive: true }).data?.data ?? [];
  const capPercent = account.role === 'owner' ? percentOfCap(account) : 0;
  const groups = [
    {
      color: 'red',
      title: text.budgetsUsedUp,
      isCap: capPercent >= 100,
      budgets: budgets.filter(({ percent }) => percent >= 100),
    },
    {
      color: 'yellow',
      title: text.budgetsNearlyUsed,
      isCap: capPercent >= CAP_PERCENT && capPercent < 100,
      budgets: budgets.filter(({ percent }) => percent < 100),
    },
  ];
  const isOwner = account.role === 'owner';
  return groups
    .filter((group) => group.isCap || group.budgets.length > 0)
    .map(({ color, title, isCap, budgets: shown }) => (
      <Alert key={color} color={color} title={title}>
        <List size="sm">
          {isCap && account.role === 'owner' && (
            <List.Item>
              {text.capUsed(format.yuan(account.spentTodayYuan), format.yuan(account.dailySpendCapInForceYuan ?? '0'))}
            </List.Item>
          )}
          {shown.map((budget) => (
            <List.Item key={`${budget.ownerId} ${budget.name} ${budget.model} ${budget.period}`}>
              <BudgetLine budget={budget} isOwner={isOwner} />
            </List.Item>
          ))}
        </List>
        {isOwner ? (
          <>
            <Anchor href="#/keys">{text.apiKeys}</Anchor> · <Anchor href="#/members">{text.members}</Anchor> ·{' '}
            <Anchor href="#/settings">{text.toSettings}</Anchor>
          </>
        ) : (
          text.askOwners
        )}
      </Alert>
    ));
}

function BudgetLine({ budget, isOwner }: { readonly budget: UsedBudget; readonly isOwner: boolean }) {
  const text = useTexts(overviewTexts);
  const format = useFormat();
  const { scope, name, model, period, usedYuan, limitYuan, resetsAt } = budget;
  const named = name === null ? text.ofFurther[scope === 'tag' ? 'tag' : 'endUser'] : text.of[scope](name);
  const who = scope === 'member' && !isOwner ? text.yours : named;
  const what = model === null ? who : text.forModel(who, model);
  const used = text.budgetUsed(text.periods[period], format.yuan(usedYuan), format.yuan(limitYuan));
  const renewal = resetsAt === null ? '' : ` ${text.renewed(format.instant(resetsAt))}`;
  return `${what}: ${used}${renewal}`;
}

function percentOfCap({ spentTodayYuan, dailySpendCapInForceYuan: cap }: AccountOfOwner): number {
  const capNano = cap === null ? 0n : toNano(cap);
  return capNano === 0n ? 0 : Number((toNano(spentTodayYuan) * 100n) / capNano);
}
