import { useRead } from '../../api/queries.ts';
import type { Account } from '../../api/types.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { dayIn, isMonth } from '../../parts/days.ts';
import { usePlaceQuery } from '../../parts/location.ts';
import { useSession } from '../../session/session.tsx';
import { useTexts } from '../../text/language.tsx';
import { MonthlyStatement } from './statement.tsx';
import { statementTexts } from './statement-texts.ts';

export function StatementTab({ account }: { readonly account: Account }) {
  const text = useTexts(statementTexts);
  const [query] = usePlaceQuery();
  const { billingTimezone } = useSession();
  const month = isMonth(query.month) ? query.month : dayIn(billingTimezone, Date.now()).slice(0, 7);
  const input = { path: { id: account.id }, query: { month } };
  return (
    <MonthlyStatement
      title={text.ofAccount(account.name, month)}
      month={month}
      isOwn={false}
      read={useRead('GET /admin/v1/accounts/{id}/statement', input)}
      csv={
        <CsvButton
          endpoint="GET /admin/v1/accounts/{id}/statement"
          input={input}
          fileName={`${account.id}-${month}.csv`}
        />
      }
    />
  );
}
