/** The operation that gives the page of the inspector, which asks the others with the reader's own key. */

import { operation, type Operation } from '../http/operation.ts'

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "frame-ancestors 'none'",
}

/** `/inspect`: the page holds nothing of any conversation, so that no key is needed for it. None without a page. */
export const inspectorOperations = (page: string | null): Operation[] =>
  page === null
    ? []
    : [
        operation(
          {
            method: 'get',
            path: '/inspect',
            operationId: 'inspect',
            tag: 'Server',
            summary: 'A page that shows conversations event by event',
            open: true,
            replies: {
              200: { description: 'Successful Response', mediaType: 'text/html', schema: { type: 'string' } },
            },
          },
          () => new Response(page, { headers: HEADERS }),
        ),
      ]
