import { pageTexts } from '../../parts/texts.ts';

export const callsTexts = pageTexts(
  {
    lead: 'Every call with what it used and cost, and requests that were refused.',
    refused: 'Refused requests',
    anyModel: 'any model',
    anyKey: 'any key',
    anyPerson: 'anybody',
    anyStatus: 'any status',
    requestIdHint: 'ours, or your own',
    daysOf: (timezone: string) => `Calls that began on these days of ${timezone}.`,
    nothing: 'No such calls',
    nothingHint: 'Change the filter, or make a first call: the quickstart shows how.',
    noRefusals: 'Nothing was refused',
    noRefusalsHint:
      'Requests that are refused (wrong keys, limits, bodies that cannot be read) stand here with the reason.',
    codeHint: 'such as rate_limit_exceeded',
    refusedOnDaysOf: (timezone: string) => `Requests that were refused on these days of ${timezone}.`,
    refusalsOfRequest: 'Refused under this request id',
  },
  {
    lead: '每次调用的用量与扣费，以及被拒绝的请求。',
    refused: '被拒绝的请求',
    anyModel: '全部模型',
    anyKey: '全部密钥',
    anyPerson: '全部成员',
    anyStatus: '全部状态',
    requestIdHint: '网关的或您自己的',
    daysOf: (timezone: string) => `按 ${timezone} 的日期筛选调用开始时间。`,
    nothing: '没有符合条件的调用',
    nothingHint: '请修改筛选条件，或参照“快速开始”发起首次调用。',
    noRefusals: '没有被拒绝的请求',
    noRefusalsHint: '被拒绝的请求（密钥错误、超出限额、请求体无法解析等）会连同原因显示在这里。',
    codeHint: '例如 rate_limit_exceeded',
    refusedOnDaysOf: (timezone: string) => `按 ${timezone} 的日期筛选被拒绝的请求。`,
    refusalsOfRequest: '该请求 ID 下被拒绝的请求',
  },
);
