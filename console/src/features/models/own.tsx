import { useRead } from '../../api/queries.ts';
import { ReadState } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { ModelList } from '../../parts/prices/model-list.tsx';
import { pageTexts } from '../../parts/texts.ts';
import { useTexts } from '../../text/language.tsx';

const texts = pageTexts(
  { lead: 'Available models. Prices are in yuan per million tokens unless stated otherwise.' },
  { lead: '可以调用的模型。未注明时，价格单位为元 / 百万 token。' },
);

export function ModelsPage() {
  const text = useTexts(texts);
  const models = useRead('GET /account/v1/models', {});
  return (
    <Page lead={text.lead}>
      <ReadState read={models} />
      {models.data !== undefined && (
        <ModelList models={models.data.data} priceFactor={models.data.priceFactorBasisPoints} canTry />
      )}
    </Page>
  );
}
