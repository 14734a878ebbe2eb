import { Page } from '../../parts/page.tsx';

export function VoucherBatchesPage() {
  return <Page title="…">{null}</Page>;
}
