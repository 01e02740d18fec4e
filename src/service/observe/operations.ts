/** The operation that shows the metrics. */

import { operation, type Operation } from '../http/operation.ts'
import type { Metrics } from './metrics.ts'

/** `/metrics`, in the text format of Prometheus; it needs a key where keys are configured. */
export const showMetrics = (metrics: Metrics): Operation[] => [
  operation(
    {
      method: 'get',
      path: '/metrics',
      operationId: 'metrics',
      tag: 'Server',
      summary: 'Measures in the text format of Prometheus',
      replies: {
        200: { description: 'Successful Response', mediaType: 'text/plain', schema: { type: 'string' } },
      },
    },
    () =>
      new Response(metrics.text(), {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      }),
  ),
]
