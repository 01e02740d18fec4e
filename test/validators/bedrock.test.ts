/** The Bedrock validator accepts valid requests, and reports the rules that others break. */

import { bedrockRules, validateBedrock } from '../../src/messages/bedrock/rules.ts'
import { type Broken, type Good, testTables } from './tables.ts'

const user = { role: 'user', content: [{ text: 'List the files.' }] }
const done = { role: 'assistant', content: [{ text: 'Done.' }] }
const use = (toolUseId: string, name = 'ls') => ({ toolUse: { toolUseId, name, input: { path: '.' } } })
const result = (toolUseId: string, more: object = {}) => ({
  toolResult: { toolUseId, content: [{ text: 'a.txt' }], status: 'success', ...more },
})
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const userWith = (...content: unknown[]) => ({ role: 'user', content })
const thought = { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2ln' } } }
const image = (bytes: unknown) => ({ image: { format: 'png', source: { bytes } } })
const png = image(new Uint8Array([1]))
const pdf = (name: string) => ({ document: { format: 'pdf', name, source: { bytes: new Uint8Array([1]) } } })
const requestOf = (...messages: unknown[]) => ({ messages })

const good: Good[] = [
  { name: 'one question', request: { system: [{ text: 'Be brief.' }], ...requestOf(user) } },
  {
    name: 'calls and their results',
    request: requestOf(user, assistant(use('a'), use('b')), userWith(result('b'), result('a'))),
  },
  {
    name: 'text and files after results',
    request: requestOf(
      user,
      assistant(thought, use('a')),
      userWith(result('a', { status: 'error' }), { text: 'And?' }, png, pdf('one')),
    ),
  },
  {
    name: 'calls that the provider executed, and citations',
    request: requestOf(
      user,
      assistant(
        { reasoningContent: { redactedContent: new Uint8Array([1]) } },
        { toolUse: { toolUseId: 's', name: 'nova_grounding', input: {}, type: 'server_tool_use' } },
        { toolResult: { toolUseId: 's', content: [], type: 'nova_grounding_result' } },
        { citationsContent: { content: [{ text: 'Oak.' }], citations: [{ title: 'Trees' }] } },
      ),
      user,
    ),
  },
]

const broken: Broken[] = [
  {
    name: 'an undefined field',
    request: requestOf(userWith({ text: 'a' }, { guardContent: { a: undefined } })),
    breaks: ['json-only'],
  },
  {
    name: 'a lone surrogate',
    request: requestOf(userWith({ text: '\ud800' })),
    breaks: ['text-well-formed'],
  },
  { name: 'a number as text', request: requestOf(userWith({ text: 7 })), breaks: ['wrong-type'] },
  {
    name: 'a call without input',
    request: requestOf(user, assistant({ toolUse: { toolUseId: 'a', name: 'ls' } }), userWith(result('a'))),
    breaks: ['missing-field'],
  },
  {
    name: 'a field of another provider',
    request: requestOf(userWith({ text: 'a', cache_control: {} })),
    breaks: ['unknown-field'],
  },
  {
    name: 'a block of two kinds',
    request: requestOf(userWith({ text: 'a', ...png })),
    breaks: ['known-kind'],
  },
  { name: 'an empty list of messages', request: requestOf(), breaks: ['user-ends'] },
  { name: 'a reply at the start', request: requestOf(done, user), breaks: ['user-ends'] },
  { name: 'a reply at the end', request: requestOf(user, done), breaks: ['user-ends'] },
  { name: 'two consecutive user messages', request: requestOf(user, user), breaks: ['roles-alternate'] },
  { name: 'a message without content', request: requestOf(userWith()), breaks: ['content-nonempty'] },
  {
    name: 'a result without content',
    request: requestOf(user, assistant(use('a')), userWith(result('a', { content: [] }))),
    breaks: ['content-nonempty'],
  },
  { name: 'a blank text', request: requestOf(userWith({ text: ' ' })), breaks: ['text-nonblank'] },
  {
    name: 'a blank result',
    request: requestOf(user, assistant(use('a')), userWith(result('a', { content: [{ text: '' }] }))),
    breaks: ['text-nonblank'],
  },
  {
    name: 'reasoning in a user message',
    request: requestOf(userWith(thought, { text: 'a' })),
    breaks: ['blocks-by-role'],
  },
  {
    name: 'a call without a result',
    request: requestOf(user, assistant(use('a')), user),
    breaks: ['calls-have-results'],
  },
  {
    name: 'two results of one call',
    request: requestOf(user, assistant(use('a')), userWith(result('a'), result('a'))),
    breaks: ['one-result-each'],
  },
  {
    name: 'a result without a call',
    request: requestOf(user, done, userWith(result('a'))),
    breaks: ['results-follow-calls'],
  },
  {
    name: 'a repeated call id',
    request: requestOf(
      user,
      assistant(use('a')),
      userWith(result('a')),
      assistant(use('a')),
      userWith(result('a')),
    ),
    breaks: ['call-ids-unique'],
  },
  {
    name: 'a tool name with a dot',
    request: requestOf(user, assistant(use('a', 'a.b')), userWith(result('a'))),
    breaks: ['names'],
  },
  {
    name: 'reasoning without a signature',
    request: requestOf(
      user,
      assistant({ reasoningContent: { reasoningText: { text: 'Hm.' } } }, { text: 'a' }),
      user,
    ),
    breaks: ['reasoning'],
  },
  {
    name: 'reasoning at the end of a reply',
    request: requestOf(user, assistant({ text: 'a' }, thought), user),
    breaks: ['reasoning'],
  },
  { name: 'a document without a text', request: requestOf(userWith(pdf('one'))), breaks: ['documents'] },
  {
    name: 'two documents with one name',
    request: requestOf(userWith({ text: 'a' }, pdf('one'), pdf('one'))),
    breaks: ['documents'],
  },
  {
    name: 'an image without bytes',
    request: requestOf(userWith(image(new Uint8Array()))),
    breaks: ['bytes'],
  },
  { name: 'base64 instead of bytes', request: requestOf(userWith(image('aW1n'))), breaks: ['bytes'] },
]

testTables({ validate: validateBedrock, rules: bedrockRules, good, broken })
