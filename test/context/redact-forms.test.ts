import { describe, expect, it } from 'vitest'
import { BUILT_IN, type BuiltInPattern } from '../../src/context/redaction/known-forms.ts'
import { type RedactionOptions, redactionRules } from '../../src/context/redaction/rules.ts'
import { MASK, output } from './redact-output.ts'

const A = 'A'.repeat(40)
const D = '0123456789abcdef0123456789abcdef01234567890123456789'

/** A text that is masked entirely, or a text and its masked form. */
type Masked = string | readonly [text: string, masked: string]

const BODY = `\n${'MIIEowIBAAKCAQEA'.repeat(4)}\n${'q'.repeat(64)}\nabc=`

/** For each form: masked texts, and near misses that stay unchanged. */
const FORMS: Readonly<
  Record<BuiltInPattern, { readonly masked: readonly Masked[]; readonly unchanged: readonly string[] }>
> = {
  sk: {
    masked: [
      `sk-${D.slice(0, 16)}`,
      `sk-${D.slice(0, 17)}`,
      `sk-ant-api03-${D}`,
      `sk-proj-a_b-${D}`,
      `sk-${'a'.repeat(64)}1`,
    ],
    unchanged: [`sk-${D.slice(0, 15)}`, 'sk-folding-cube-wrapper', `task-${D}`, `sk-${'a'.repeat(65)}1`],
  },
  github: {
    masked: [
      `ghp_${D.slice(0, 36)}`,
      `gho_${D.slice(0, 37)}`,
      `github_pat_${D.slice(0, 22)}`,
      `github_pat_${D}`,
      `ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.${D}_-${D}`,
      `ghu_1_eyJhbGciOiJSUzI1NiJ9.${D}`,
      [`token ghs_12_eyJhbGciOiJ.eyJpc3Mi.c2ln.`, `token ${MASK}.`],
    ],
    unchanged: [`ghp_${D.slice(0, 35)}`, `github_pat_${D.slice(0, 21)}`, `ghx_${D}`, `xghp_${D}`],
  },
  aws: {
    masked: [`AKIA${A.slice(0, 16)}`, `ASIA${A.slice(0, 16)}`],
    unchanged: [`AKIA${A.slice(0, 15)}`, `AKIA${A.slice(0, 17)}`, `AKIA${'a'.repeat(16)}`],
  },
  slack: {
    masked: ['xoxb-0123456789', 'xoxp-0123456789a', 'xoxe.xoxp-1-0123456789'],
    unchanged: ['xoxb-012345678', 'xoxo-hugs'],
  },
  google: {
    masked: [`AIza${D.slice(0, 35)}`, `AQ.Ab8R_-${D}`, `ya29.a0-${D}`, `GOCSPX-a_b-${D}`],
    unchanged: [
      `AIza${D.slice(0, 34)}`,
      `AQ.Ab${D.slice(0, 19)}`,
      `ya29.${D.slice(0, 19)}`,
      'FAQ.About-this-page-of-ours',
    ],
  },
  prefix: {
    masked: [
      `hf_${'aBcDeFgHi'.repeat(4).slice(0, 34)}`,
      `npm_${D.slice(0, 36)}`,
      `gsk_${D}`,
      `r8_${D.slice(0, 37)}`,
      `xai-${D}${D}`,
      `pplx-${D}`,
      `glpat-${D.slice(0, 20)}`,
      `glpat-${D.slice(0, 27)}.01.${D.slice(0, 9)}`,
      `glrt-t1_${D.slice(0, 20)}`,
      `sk_live_${D.slice(0, 24)}`,
      `rk_test_${D.slice(0, 24)}`,
      `xapp-1-A0123456789-1234567890123-${D}`,
      `nvapi-a-b_${D}`,
      `hvs.CAES${D}`,
      `pypi-AgEIcHlwaS5vcmc${D}`,
      `ABSKQmVkcm9ja0FQSUtleS0${D}+/=`,
      `fw_${D.slice(0, 40)}`,
      `fw-${D.slice(0, 40)}`,
      `fpk_${D.slice(0, 40)}`,
      `csk-${D.slice(0, 48)}`,
      `sbp_${D.slice(0, 40)}`,
      `ntn_${D.slice(0, 46)}`,
      `whsec_${D.slice(0, 32)}`,
      `shpat_${D.slice(0, 32)}`,
      `lin_api_${D.slice(0, 40)}`,
      `dop_v1_${D}`,
      [`lsv2_pt_${D.slice(0, 32)}_${D.slice(0, 10)}`, `${MASK}_${D.slice(0, 10)}`],
      `vcp_${D}`,
      [`glsa_${D.slice(0, 32)}_01234567`, `${MASK}_01234567`],
      `pul-${D.slice(0, 40)}`,
      `figd_a-b_${D.slice(0, 40)}`,
      `tvly-dev-${D.slice(0, 32)}`,
      `dapi${D.slice(0, 32)}`,
      `SG.a-b_${D.slice(0, 18)}.${D.slice(0, 43)}`,
      `AccountKey=${D}${D.slice(0, 34)}==`,
      [`key glpat-${D.slice(0, 20)}. Next`, `key ${MASK}. Next`],
    ],
    unchanged: [
      `hf_${D.slice(0, 29)}`,
      'npm_config_user_agent_of_this_process_1',
      'xai-grok-4-fast-reasoning-latest-0709-and-more',
      'gsk_test_of_some_long_snake_case_name_1',
      `glpat-${D.slice(0, 19)}`,
      'sk_live_in_a_town',
      'sk_test_of_a_long_name',
      'rk_live_updates_of_the_whole_table_2',
      'sk_test_1_of_a_very_long_list_of_tests',
      'xapp-of-a-very-long-name-in-a-folder',
      'nvapi-client-for-several-python-users',
      'hvs.some_long_name_of_an_attribute',
      'tvly-client-for-several-python-users',
      'figd_a_name_of_an_attribute',
      'fw-firmware-of-the-controller-of-2024',
      `SG.${D.slice(0, 22)}.${D.slice(0, 42)}`,
      'AccountKey=<your key>',
      `dapi${D.slice(0, 31)}`,
      `xhf_${D}`,
      `task_live_${D}`,
      'glpath-to-some-file-in-a-folder-1',
      'pypi-publish-with-a-very-long-name-1',
    ],
  },
  jwt: {
    masked: [
      'eyJhbGciOiI.eyJzdWIi.c2ln',
      'eyJhbGciOiIx.eyJzdWIiO.',
      'eyJhbGciOiI.eyJzdWIi',
      'eyJhbGciOiI..aXY.Y2lwaGVy.dGFn',
    ],
    unchanged: [
      'eyJhbGciOi.eyJzdWIi.c2ln',
      'eyJhbGciOiI.eyJzdWI.x',
      'eyJhbGciOiI',
      'heyJhbGciOiI.eyJzdWIi.c2ln',
    ],
  },
  bearer: {
    masked: [
      ['Bearer abcdefghijklmno1', `Bearer ${MASK}`],
      ['bearer\tabcdefghijklmno1=, x', `bearer\t${MASK}, x`],
    ],
    unchanged: [
      'bearer of good news 1234',
      'Bearer abcdefghijklmn1',
      'the bearer authentication-of-clients is',
    ],
  },
  authorization: {
    masked: [
      ['Authorization: Bearer abcd', `Authorization: Bearer ${MASK}`],
      ['-H "authorization: Basic eDp5"', `-H "authorization: Basic ${MASK}"`],
      ['Authorization=Token abcde', `Authorization=Token ${MASK}`],
    ],
    unchanged: [
      'authorization: required',
      'Authorization: Bearer <token>',
      'Authorization: Bearer $TOKEN',
      'Authorization: Basic abc',
    ],
  },
  url_password: {
    masked: [
      ['postgres://me:pw@host/db', `postgres://me:${MASK}@host/db`],
      ['redis://:p@ss:w@rd@host', `redis://:${MASK}@host`],
      [`http://${'u'.repeat(256)}:${'p'.repeat(256)}@h`, `http://${'u'.repeat(256)}:${MASK}@h`],
    ],
    unchanged: [
      'http://localhost:3000/@vite/client',
      'https://host:80/a@b',
      'git@host:22',
      'https://me@host/',
      `http://${'u'.repeat(257)}:p@h`,
      `http://u:${'p'.repeat(257)}@h`,
    ],
  },
  private_key: {
    masked: [
      [`a -----BEGIN RSA PRIVATE KEY-----${BODY}\n-----END RSA PRIVATE KEY----- b`, `a ${MASK} b`],
      [
        `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x (y)\n${BODY}\n-----END PGP PRIVATE KEY BLOCK-----\n`,
        `${MASK}\n`,
      ],
      [
        JSON.stringify({ k: `-----BEGIN PRIVATE KEY-----${BODY}\n-----END PRIVATE KEY-----\n` }),
        `{"k":"${MASK}\\n"}`,
      ],
      `-----BEGIN PRIVATE KEY-----${BODY}`,
      `-----BEGIN PRIVATE KEY-----${BODY.slice(0, 50)}`,
      [
        `-----BEGIN PRIVATE KEY-----${BODY}\n-----BEGIN PRIVATE KEY-----${BODY}\n-----END PRIVATE KEY-----`,
        `${MASK}\n${MASK}`,
      ],
    ],
    unchanged: ['-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----', 'PRIVATE KEY'],
  },
}

describe('known forms', () => {
  // Iterates over the table of src, so that every form needs a sample.
  describe.each(BUILT_IN)('%s', (name) => {
    const { masked, unchanged } = FORMS[name]
    it('has at least one masked sample', () => expect(masked).not.toEqual([]))

    const cases = [
      ...masked.map((one) => (typeof one === 'string' ? ([one, MASK] as const) : one)),
      ...unchanged.map((text) => [text, text] as const),
    ]
    it.each(cases)('%s becomes %s', (text, expected) => {
      expect(output(text, { builtIn: [name], fields: [] })).toBe(expected)
      expect(output(text, { fields: [] })).toBe(expected)
      if (expected !== MASK && expected !== text) return
      // The surrounding text does not matter.
      expect(output(`(${text})`, { builtIn: [name], fields: [] })).toBe(`(${expected})`)
    })
  })

  it('are all searched by default, or only those that builtIn names, or none', () => {
    const text = `AKIA${A.slice(0, 16)} xoxb-0123456789`
    expect(output(text)).toBe(`${MASK} ${MASK}`)
    expect(output(text, { builtIn: false })).toBe(text)
    expect(output(text, { builtIn: ['slack'] })).toBe(`AKIA${A.slice(0, 16)} ${MASK}`)
    expect(() => redactionRules({ builtIn: ['nonsense' as BuiltInPattern] })).toThrow('"nonsense"')
  })

  it.each([
    [{ secrets: 'hunter2-hunter2' }, '`secrets` must be a list.'],
    [{ secrets: ['hunter2-hunter2', undefined] }, '`secrets[1]` must be a string.'],
    [{ patterns: /x/ }, '`patterns` must be a list.'],
    [{ patterns: ['x'] }, '`patterns[0]` must be a regular expression.'],
    [{ fields: 'password' }, '`fields` must be a list.'],
    [{ fields: [null] }, '`fields[0]` must be a string.'],
    [{ builtIn: 'aws' }, '`builtIn` must be a list.'],
    [{ key: 16 }, '`key` must be a string or a Uint8Array.'],
    [{ key: null }, '`key` must be a string or a Uint8Array.'],
  ])('reject %j', (options, message) => {
    const rules = () => redactionRules(options as RedactionOptions)
    expect(rules).toThrow(expect.objectContaining({ code: 'invalid_rules', message }))
  })
})
