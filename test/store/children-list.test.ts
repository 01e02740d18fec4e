/** The key of a parent precedes the keys of tags, so listing children reads only the children. */

import { expect, it } from 'vitest'
import { checkConversationFilter } from '../../src/store/kit/index.ts'

it('a filter by parent and tag has the parent as its first key', () => {
  const { keys } = checkConversationFilter({ parentConversationId: 'p', tags: { subagent: 'true' } })
  expect(keys).toEqual([
    ['parent', 'p'],
    ['tag.subagent', 'true'],
  ])
})
