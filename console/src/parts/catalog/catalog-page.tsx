import { Alert, Anchor, Code, Stack, Text } from '@mantine/core';
import { AlertIcon, ClockIcon, FileIcon } from '@primer/octicons-react';
import type { ReactNode } from 'react';
import { useFormat } from '../../text/format.ts';
import { useTexts } from '../../text/language.tsx';
import { hashOf } from '../location.ts';
import { ErrorNotice, ReadState } from '../notices.tsx';
import { Page } from '../page.tsx';
import { catalogTexts } from './texts.ts';
import { type Catalog, useCatalog } from './use-catalog.ts';

interface CatalogPageProps {
  readonly mayOperate: boolean;
  readonly lead: string;
  readonly actions?: (catalog: Catalog) => ReactNode;
  readonly children: (catalog: Catalog) => ReactNode;
}

/** A page of the catalog: with what is scheduled, and in mode `file` with how to edit it here. */
export function CatalogPageFrame({ mayOperate, lead, actions, children }: CatalogPageProps) {
  const { catalog, read } = useCatalog(mayOperate);
  return (
    <Page lead={lead} actions={catalog?.canEdit && actions?.(catalog)}>
      {catalog === null ? (
        <ReadState read={read} />
      ) : (
        <>
          <ErrorNotice error={read.error} />
          <CatalogNotices catalog={catalog} />
          {children(catalog)}
        </>
      )}
    </Page>
  );
}

function CatalogNotices({ catalog: { state, scheduled } }: { readonly catalog: Catalog }) {
  const text = useTexts(catalogTexts);
  const format = useFormat();
  const { mode, failed } = state;
  return (
    <>
      {failed !== null && (
        <Alert color="red" icon={<AlertIcon />} title={text.failed(String(failed.number))} role="alert">
          <Text size="sm">{text.failedHint}</Text>
          <Code block style={{ whiteSpace: 'pre-wrap' }}>
            {failed.message}
          </Code>
        </Alert>
      )}
      {mode === 'file' && (
        <Alert color="blue" icon={<FileIcon />} title={text.fileMode}>
          <Stack gap="xs">
            <Text size="sm">{text.fileModeHint}</Text>
            <Code block>faregate catalog use database</Code>
          </Stack>
        </Alert>
      )}
      {scheduled !== null && (
        <Alert color="yellow" icon={<ClockIcon />} title={text.scheduledNotice(String(scheduled.number))}>
          {text.scheduledHint(format.instant(scheduled.inForceAt ?? scheduled.createdAt))}{' '}
          <Anchor href={hashOf('/operator/catalog')} inherit>
            {text.toCatalog}
          </Anchor>
        </Alert>
      )}
    </>
  );
}
