import { afterEach, beforeEach, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'

interface User {
  readonly user_id: string
  readonly email: string
  readonly subject: string | null
  readonly api_key: string | null
}

let client: Client
beforeEach(async () => {
  client = await clientOver(memoryStore(), { keys: ['k'], secret: 's' })
})
afterEach(() => client.engine.close())

const provision = async (body: object, org = 'acme') => {
  const { status, body: user } = await client.send<User>('/api/organizations/provision-user', {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-session-api-key': 'k', 'x-org-id': org },
  })
  return { status, ...user }
}

it('a subject stays one user with one key when its email changes', async () => {
  const first = await provision({ email: 'Ann@x.example', subject: 'idp|1' })
  expect(first).toMatchObject({ status: 201, email: 'ann@x.example', subject: 'idp|1' })
  expect(first.api_key).toBeTypeOf('string')
  const again = await provision({ email: 'ann.new@x.example', subject: 'idp|1' })
  expect(again).toMatchObject({
    status: 200,
    email: 'ann.new@x.example',
    api_key: null,
    user_id: first.user_id,
  })
  expect((await provision({ email: 'ann.new@x.example', subject: 'idp|1' })).email).toBe('ann.new@x.example')
})

it('users with the same email and different subjects are different users', async () => {
  const email = 'shared@x.example'
  const users = [
    await provision({ email, subject: 'idp|1' }),
    await provision({ email, subject: 'idp|2' }),
    await provision({ email, subject: 'IDP|1' }),
    await provision({ email }),
    await provision({ email, subject: 'idp|1' }, 'other'),
    // An address and a subject with the same text are stored apart.
    await provision({ email, subject: email }),
    await provision({ email, subject: `\n${email}` }),
  ]
  expect(users.map(({ status }) => status)).toEqual(users.map(() => 201))
  expect(new Set(users.map(({ user_id }) => user_id)).size).toBe(users.length)
  expect((await provision({ email })).user_id).toBe(users[3]?.user_id)
})

it('concurrent requests create one user with one key', async () => {
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, n) => provision({ email: `a${n}@x.example`, subject: 'idp|9' })),
  )
  expect(new Set(all.map(({ user_id }) => user_id)).size).toBe(1)
  expect(all.filter(({ api_key }) => api_key !== null)).toHaveLength(1)
})

it.each([{ subject: '' }, { subject: 5 }, { subject: 'x'.repeat(256) }, { email: '\ud800@x.example' }])(
  'a request with %j gets 422',
  async (more) => {
    expect((await provision({ email: 'a@x.example', ...more })).status).toBe(422)
  },
)
