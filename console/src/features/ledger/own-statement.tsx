import { useRead } from '../../api/queries.ts';
import { CsvButton } from '../../parts/csv-button.tsx';
import { isMonth } from '../../parts/days.ts';
import { usePlaceQuery } from '../../parts/location.ts';
import { ReadState } from '../../parts/notices.tsx';
import { useTexts } from '../../text/language.tsx';
import { MonthlyStatement } from './statement.tsx';
import { statementTexts } from './statement-texts.ts';

/** The monthly statement; by default of the current month in the billing time zone. */
export function OwnStatementTab() {
  const [query] = usePlaceQuery();
  const account = useRead('GET /account/v1/account', {});
  const chosen = isMonth(query.month) ? query.month : null;
  const month = chosen ?? account.data?.today.slice(0, 7);
  if (month !== undefined) return <StatementOf month={month} />;
  return <ReadState read={account} />;
}

function StatementOf({ month }: { readonly month: string }) {
  const text = useTexts(statementTexts);
  const input = { query: { month } };
  return (
    <MonthlyStatement
      title={text.of(month)}
      month={month}
      isOwn
      read={useRead('GET /account/v1/statement', input)}
      csv={<CsvButton endpoint="GET /account/v1/statement" input={input} fileName={`statement-${month}.csv`} />}
    />
  );
}
