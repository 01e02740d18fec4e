/** Makes the documents of a request agree on citations: the provider wants them of all or of none. */

import type { AnthropicPart } from './part-shapes.ts'

export type Cite = (block: AnthropicPart) => AnthropicPart

/**
 * A giver of blocks for one request: each as its first document has it, with citations or without. A longer history
 * begins with the same one, so that nothing before changes. O(1) a block.
 */
export function citing(): Cite {
  let cites: boolean | null = null
  return (block) => {
    // Inside of results there are other kinds, too.
    if (block.type !== 'document' && block.type !== 'search_result') return block
    const { citations, ...rest } = block
    const own = citations?.enabled === true
    cites ??= own
    return own === cites ? block : { ...rest, ...(cites ? { citations: { enabled: true } } : {}) }
  }
}
