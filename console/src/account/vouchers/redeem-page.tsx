import { Page } from '../../parts/page.tsx';

export function RedeemPage() {
  return <Page title="…">{null}</Page>;
}
