/** The Anthropic validator accepts server tool blocks, and rejects halves of them. */

import { serverRules, validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { ask, assistant, call, done, from, result, text, user } from './anthropic-fixtures.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
const matches = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const requests = { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'ls', server_name: 'files', input: {} }
const reports = { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', content: [], is_error: false }
const called = { ...call('a'), caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } }

const good: Good[] = [
  { name: 'a search and what it found', request: ask(user, assistant(search, matches, text('Oak.')), user) },
  { name: 'a tool of an MCP server', request: ask(user, assistant(requests, reports), user) },
  {
    name: 'a search of a reply that waits',
    request: ask(user, assistant(search, call('a')), from(result('a'))),
  },
  {
    name: 'a result in the reply that goes on',
    request: ask(user, assistant(search, called), from(result('a')), assistant(matches, text('Oak.')), user),
  },
  { name: 'a paused reply at the end', request: ask(user, assistant(text('I look.'), search)) },
]

const broken: Broken[] = [
  {
    name: 'a result without its call',
    request: ask(user, assistant(matches, text('Oak.')), user),
    breaks: ['server-results-follow-calls'],
  },
  {
    name: 'a result of another family',
    request: ask(user, assistant(requests, { ...matches, tool_use_id: 'mcptoolu_1' }), user),
    breaks: ['server-results-follow-calls', 'server-calls-with-results'],
  },
  {
    name: 'a call without its result',
    request: ask(user, assistant(search, text('Oak.')), user),
    breaks: ['server-calls-with-results'],
  },
  {
    name: 'a call whose result the user came before',
    request: ask(user, assistant(search), user, assistant(matches), user),
    breaks: ['server-results-follow-calls', 'server-calls-with-results'],
  },
  {
    name: 'a call twice',
    request: ask(user, assistant(search, matches, search, matches), user),
    breaks: ['server-call-once'],
  },
  {
    name: 'a caller that is not there',
    request: ask(user, assistant(called), from(result('a')), done),
    breaks: ['caller-known'],
  },
]

testTables({ validate: (request) => validateAnthropic(request), rules: serverRules, good, broken })
