/** How a request of the control plane asks for a page. */

import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import { integer, optional, text, withDefault } from '../http/parameters.ts'

export const PAGING = {
  page_id: optional(text()),
  limit: withDefault(integer({ least: 1, most: MAX_PAGE_SIZE }), MAX_PAGE_SIZE),
} as const
