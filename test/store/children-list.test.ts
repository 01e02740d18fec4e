/** Listing children reads only the children, not every conversation with their tag. */

import { expect, it } from 'vitest'
import { checkConversationFilter } from '../../src/store/kit/index.ts'

it('walks along the parent', () => {
  const { keys } = checkConversationFilter({ parentConversationId: 'p', tags: { subagent: 'true' } })
  expect(keys).toEqual([
    ['parent', 'p'],
    ['tag.subagent', 'true'],
  ])
})
