/** The function that deletes a conversation with all that is kept of it. */

import { BE_DURABLE } from './phrases.ts'

/**
 * `delete_conversation` gives whether there was one. The record goes first: that waits for appends under way, and what
 * they appended is then seen by the statements after it.
 */
export const deleteConversation = (schema: string): string => `
CREATE OR REPLACE FUNCTION ${schema}.delete_conversation(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  DELETE FROM ${schema}.conversations WHERE conversation_id = p_conversation;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${BE_DURABLE}
  DELETE FROM ${schema}.events WHERE conversation_id = p_conversation;
  DELETE FROM ${schema}.lanes WHERE conversation_id = p_conversation;
  PERFORM ${schema}.delete_snapshot(p_conversation);
  RETURN true;
END
$body$;
`
