/** The Responses validator rejects programs, commands and approvals that do not match their results. */

import { serverRules, validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { ask, call, done, out, user } from './openai-responses-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const program = { type: 'program', id: 'prog_1', call_id: 'p', code: '1', fingerprint: 'f' }
const shell = { type: 'shell_call', call_id: 's', action: { commands: ['ls'] } }
const shellOut = { type: 'shell_call_output', call_id: 's', output: [{ stdout: '' }] }
const approval = {
  type: 'mcp_approval_request',
  id: 'mcpr_1',
  server_label: 'echo',
  name: 'echo',
  arguments: '{}',
}
const approved = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true }

const good: Good[] = [
  { name: 'a program that waits for its calls', request: ask(user, program, call('a'), out('a')) },
  {
    name: 'commands that the server executes among calls and words',
    request: ask(
      user,
      call('a'),
      shell,
      done,
      { ...shell, call_id: 't' },
      shellOut,
      call('b'),
      out('a'),
      {
        ...shellOut,
        call_id: 't',
      },
      out('b'),
    ),
  },
  { name: 'an approval', request: ask(user, approval, approved, user) },
  { name: 'an async call that works', request: ask(user, { ...call('a'), async: true }, done, user) },
  {
    name: 'an async call that is completed later',
    request: ask(user, { ...call('a'), async: true }, call('b'), out('b'), done, user, out('a')),
  },
]

const broken: Broken[] = [
  {
    name: 'a program without an output',
    request: ask(user, program, done, user),
    breaks: ['server-pairs'],
  },
  {
    name: 'the output of a program that is not there',
    request: ask(user, { type: 'program_output', id: 'po_1', call_id: 'p', result: '', status: 'completed' }),
    breaks: ['server-pairs'],
  },
  { name: 'a command without an output', request: ask(user, shell), breaks: ['server-pairs'] },
  { name: 'an output before its command', request: ask(user, shellOut, shell), breaks: ['server-pairs'] },
  {
    name: 'two outputs of a command',
    request: ask(user, shell, shellOut, shellOut),
    breaks: ['server-pairs'],
  },
  {
    name: 'an async call completed twice',
    request: ask(user, { ...call('a'), async: true }, done, out('a'), out('a')),
    breaks: ['async-pairs'],
  },
  {
    name: 'an approval twice',
    request: ask(user, approval, approved, approved),
    breaks: ['approval-follows-request'],
  },
]

testTables({ validate: validateOpenAiResponses, rules: serverRules, good, broken })
