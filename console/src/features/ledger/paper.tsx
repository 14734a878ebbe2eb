import { Anchor, Group, Image, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Buyer, Seller } from '../../api/types.ts';
import { hashOf } from '../../parts/location.ts';
import { DimmedText } from '../../parts/small.ts';
import { useTexts } from '../../text/language.tsx';
import { paperTexts } from './paper-texts.ts';

export interface Parties {
  readonly accountName: string;
  readonly seller: Seller | null;
  readonly buyer: Buyer | null;
}

interface PaperProps {
  readonly parties: Parties;
  /** Whether the reader can enter the buyer's particulars. */
  readonly isOwn: boolean;
  readonly children: ReactNode;
}

/** A page to print: who sells and who buys, and below it the content. The print style leaves out everything else on the page. */
export function Paper({ parties: { accountName, seller, buyer }, isOwn, children }: PaperProps) {
  const text = useTexts(paperTexts);
  return (
    <Stack className="paper">
      <SimpleGrid cols={{ base: 1, xs: 2 }} className="parties">
        {seller !== null && (
          <Group align="flex-start" gap="sm" wrap="nowrap">
            {seller.logo !== null && <Image src={seller.logo} alt="" w={56} h={56} fit="contain" />}
            <Party title={text.seller} name={seller.name} lines={[taxLine(seller.taxNumber, text), seller.address]} />
          </Group>
        )}
        {buyer === null ? (
          <div>
            <Party title={text.buyer} name={accountName} lines={[]} />
            {isOwn && (
              <DimmedText className="no-print">
                {text.noBuyer}{' '}
                <Anchor href={hashOf('/settings')} underline="always">
                  {text.toSettings}
                </Anchor>
              </DimmedText>
            )}
          </div>
        ) : (
          <Party
            title={text.buyer}
            name={buyer.companyName}
            lines={[
              taxLine(buyer.taxNumber, text),
              buyer.address,
              buyer.email,
              `${text.account}${text.colon}${accountName}`,
            ]}
          />
        )}
      </SimpleGrid>
      {children}
    </Stack>
  );
}

const taxLine = (taxNumber: string | null, text: { readonly taxNumber: string; readonly colon: string }) =>
  taxNumber === null ? null : `${text.taxNumber}${text.colon}${taxNumber}`;

interface PartyProps {
  readonly title: string;
  readonly name: string;
  readonly lines: readonly (string | null)[];
}

function Party({ title, name, lines }: PartyProps) {
  return (
    <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
      <DimmedText>{title}</DimmedText>
      <Text fw={600}>{name}</Text>
      {lines
        .filter((line) => line !== null)
        .map((line) => (
          <Text key={line} size="sm">
            {line}
          </Text>
        ))}
    </div>
  );
}
