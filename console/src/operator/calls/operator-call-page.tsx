import { Page } from '../../parts/page.tsx';

export function OperatorCallPage() {
  return <Page title="…">{null}</Page>;
}
