import { afterEach, describe, expect, it } from 'vitest'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import type { ServiceOptions } from '../../src/service/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { begin, client, endAll, ID, start } from './control-fixture.ts'

const SECRET = 'hunter2-hunter2'
const KEY = `sk-ant-api03-${'abcdefghijklmnopqrstuvwxyz0123456789'}`

afterEach(endAll)

/** Returns what a reader without a key gets of a conversation with these fields. */
async function report(fields: object, options: Partial<ServiceOptions> = {}): Promise<unknown> {
  await begin(memoryStore(), undefined, options)
  await start({ conversation_id: ID, public: true, ...fields })
  return (await client.get<unknown[]>('/api/shared-conversations', { ids: [ID] })).body[0]
}

describe('a shared conversation', () => {
  const publicRedaction = redactionRules({ secrets: [SECRET] })

  it('is shown with the secrets of the rules redacted in each of its texts', async () => {
    const fields = {
      title: `deploy with ${SECRET} ${KEY}`,
      selected_repository: `https://bob:${SECRET}@host/x?token=abc&page=2`,
      selected_branch: `fix/${SECRET}`,
      git_provider: 'github',
      llm_model: `model-${SECRET}`,
    }
    const shown = await report(fields, { publicRedaction })
    expect(shown).toMatchObject({
      title: 'deploy with [redacted] [redacted]',
      selected_repository: 'https://host/x?token=**********&page=2',
      selected_branch: 'fix/[redacted]',
      git_provider: 'github',
      llm_model: 'model-[redacted]',
    })
    expect(JSON.stringify(shown)).not.toContain(SECRET)
  })

  it('is shown unchanged without rules, except for secrets in its URLs', async () => {
    const fields = {
      title: `on ${SECRET}`,
      selected_repository: 'https://bob:pw@host/x',
      selected_branch: 'main',
    }
    expect(await report(fields)).toMatchObject({
      title: `on ${SECRET}`,
      selected_repository: 'https://host/x',
      selected_branch: 'main',
      git_provider: null,
      llm_model: null,
    })
  })
})
