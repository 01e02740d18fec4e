/** The Responses validator rejects programs, commands and approvals that do not match their results. */

import { serverRules, validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { requestOf, call, done, output, user } from './openai-responses-fixtures.ts'
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
  { name: 'a program that waits for its calls', request: requestOf(user, program, call('a'), output('a')) },
  {
    name: 'shell calls and their outputs between calls and text',
    request: requestOf(
      user,
      call('a'),
      shell,
      done,
      { ...shell, call_id: 't' },
      shellOut,
      call('b'),
      output('a'),
      {
        ...shellOut,
        call_id: 't',
      },
      output('b'),
    ),
  },
  { name: 'an approval request and its response', request: requestOf(user, approval, approved, user) },
  { name: 'a pending async call', request: requestOf(user, { ...call('a'), async: true }, done, user) },
  {
    name: 'an async call with a later output',
    request: requestOf(user, { ...call('a'), async: true }, call('b'), output('b'), done, user, output('a')),
  },
]

const broken: Broken[] = [
  {
    name: 'a program without an output',
    request: requestOf(user, program, done, user),
    breaks: ['server-pairs'],
  },
  {
    name: 'the output of an unknown program',
    request: requestOf(user, {
      type: 'program_output',
      id: 'po_1',
      call_id: 'p',
      result: '',
      status: 'completed',
    }),
    breaks: ['server-pairs'],
  },
  { name: 'a shell call without an output', request: requestOf(user, shell), breaks: ['server-pairs'] },
  {
    name: 'an output before its shell call',
    request: requestOf(user, shellOut, shell),
    breaks: ['server-pairs'],
  },
  {
    name: 'two outputs of a shell call',
    request: requestOf(user, shell, shellOut, shellOut),
    breaks: ['server-pairs'],
  },
  {
    name: 'two outputs of an async call',
    request: requestOf(user, { ...call('a'), async: true }, done, output('a'), output('a')),
    breaks: ['async-pairs'],
  },
  {
    name: 'two responses to an approval request',
    request: requestOf(user, approval, approved, approved),
    breaks: ['approval-follows-request'],
  },
]

testTables({ validate: validateOpenAiResponses, rules: serverRules, good, broken })
