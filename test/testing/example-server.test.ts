/** The example agent server, which does not use the engine, passes the server cases. */

import { resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { serverConformance } from '../../src/testing/server/index.ts'
import { exampleServer } from './example-server.ts'
import { startModel } from './scripted-model.ts'

const model = await startModel()
const server = exampleServer(resolve(import.meta.dirname, '../../examples/agent-server/server.ts'), model)
afterAll(async () => {
  await server.close()
  await model.close()
})

const cases = serverConformance(server)

it.each(cases)('$name', async ({ skipped, run }) => {
  expect(skipped).toBeNull()
  await run()
})
