"""The sentences of docs/store.md, and the tests that would break if they were not true.

Each is named by its beginning. A sentence that promises nothing has one of three reasons instead.
"""

from __future__ import annotations

ADVICE = "what to do"
LIMIT = "what is not promised"
LEAD = "leads to what follows, or the page runs it: tests/test_docs.py"

_S, _C, _V = "store/test_store.py::test_", "cli/test_", "service/test_"
_D, _B = "store/test_durable.py::test_", "store/test_backups.py::test_"
_T, _P = "store/test_takeover.py::test_", "store/test_postgres_rows.py::test_"
_M, _K = "store/test_key_mirror.py::test_", "store/test_key_folder.py::test_"
_W, _G = "store/test_writer.py::test_", "store/test_learning.py::test_"
_F, _E = "store/test_stored_fleet.py::test_", "store/test_standby_files.py::test_"
_KILLS = f"{_S}no_kill_inside_of_an_operation_leaves_a_key_or_a_file"
_SECOND = f"{_T}a_second_process_takes_over_under_load"
_CRASHES = "store/test_steps.py::test_no_three_crashes_lose_a_row_or_keep_a_destroyed_key"

PROMISES = {
    "A model in memory forgets exactly.": LEAD,
    "Its rows must also survive": LEAD,
    "`efface.store` keeps rows in a folder": LEAD,
    "**Durable.**": (
        f"{_S}a_writer_that_is_killed_loses_nothing",
        f"{_S}a_loss_of_power_loses_nothing",
    ),
    "**Forgotten.**": (
        f"{_S}no_file_holds_a_forgotten_row_or_its_key",
        f"{_S}an_old_copy_of_the_rows_cannot_be_read_for_forgotten_ones",
    ),
    "Every row is encrypted under a key": (
        "store/test_key_pool.py::test_every_row_has_a_key_of_its_own_that_was_written_to_its_slot",
    ),
    "**Provable.**": (
        f"{_C}receipt_commands.py::test_a_receipt_verifies_under_the_key_of_the_store",
    ),
    "**Copies of `keys/` are not covered.**": LIMIT,
    "Back up rows without keys": ADVICE,
    "The models are those of the library": (f"{_D}results_are_those_of_the_library",),
    "Their results are the library's": (f"{_D}results_are_those_of_the_library",),
    "`forget` without `model=`": (f"{_D}many_models_share_a_store",),
    "Threads may share a store": (f"{_D}threads_share_commits_and_a_forget_covers_what_waits",),
    "One process owns a store: in a forked child": (
        "store/test_disk.py::test_a_forked_child_may_do_nothing_and_touches_nothing",
        "store/test_disk.py::test_a_child_that_ends_inside_of_a_store_touches_nothing",
    ),
    "Rows without ids get UUIDs.": (f"{_D}rows_without_ids_get_uuids",),
    "A row that is there already": (
        f"{_G}a_row_that_is_there_is_skipped_and_one_with_other_content_refused",
    ),
    "The same id with another content": (
        f"{_G}a_row_that_is_there_is_skipped_and_one_with_other_content_refused",
    ),
    "Ids of rows that left are refused": (
        f"{_G}rows_that_left_do_not_come_back_for_seven_days",
        f"{_B}a_relearn_after_a_restore_does_not_bring_the_forgotten_back",
    ),
    "They lie with the keys, hidden": (
        "store/test_left_ids.py::test_nobody_can_test_an_id_after_seven_days",
        "store/test_digest_table.py::test_it_needs_the_bytes_of_a_digest_and_of_a_number",
    ),
    "`forget(owner=..., forever=True)`": (
        f"{_G}owners_forgotten_for_ever_are_refused_also_after_opening_again",
    ),
    '`forget(..., missing="ok")`': (f"{_D}unknown_names",),
    "A time (`at`) more than five minutes": (f"{_G}times_ahead_of_the_clock_are_refused",),
    "`expire` uses the clock.": (f"{_D}an_expiry_of_more_than_half_needs_force",),
    "An expiry that would remove": (f"{_D}an_expiry_of_more_than_half_needs_force",),
    "What fell due while the store was closed": (
        f"{_S}what_fell_due_while_the_store_was_closed_leaves_at_open",
        f"{_D}a_wrong_clock_at_open_removes_at_most_half",
    ),
    "Rows that a window lets go leave": (f"{_S}no_file_holds_rows_that_a_full_window_let_go",),
    "Their keys are destroyed within a second.": (
        "store/test_shredding.py::test_what_waits_is_shredded_soon_and_once",
        f"{_S}no_file_holds_rows_that_a_full_window_let_go",
    ),
    "They get no receipt.": (
        "store/test_notes.py::test_a_note_of_rows_that_left_by_themselves_owes_no_receipt",
    ),
    "`keyed=True` adds one model": (
        f"{_F}a_keyed_model_is_the_librarys_fleet_also_after_opening_again",
    ),
    "Every row has a key.": (f"{_F}what_needs_keys_says_so",),
    "Ids are unique across keys": (
        f"{_F}a_keyed_model_is_the_librarys_fleet_also_after_opening_again",
    ),
    "The keys of rows are encrypted": (f"{_S}no_file_holds_a_forgotten_row_or_its_key",),
    "On the command line:": LEAD,
    "`efface store add shop sales": (
        f"{_C}store_commands.py::test_a_keyed_model_is_learned_and_predicted_by_the_column_of_keys",
    ),
    "`audit` compares every key": (
        "store/test_fleet_audit.py::test_wrong_coefficients_of_one_key_are_found",
    ),
    "`people.txt` has one owner per line.": LEAD,
    "Names are read from standard input": (
        f"{_C}store_people.py::test_the_owner_is_asked_for_at_a_prompt",
    ),
    "In four commands: forget": LEAD,
    "`shop.pub` is the file": LEAD,
    "The person keeps `ann.json`": ADVICE,
    "The store does not keep the secret.": (
        f"{_S}no_file_holds_a_forgotten_row_or_its_key",
        "store/test_receipts.py::test_a_receipt_names_an_owner_under_the_secret_alone",
    ),
    "Asked again with the same secret": (f"{_D}a_request_that_is_repeated_finds_its_receipt",),
    "Exit codes of `efface store`": (
        f"{_C}store_commands.py::test_what_cannot_be_done_is_one_line_and_exit_code_2",
    ),
    "`efface receipt verify`: 0": (
        f"{_C}receipt_commands.py::test_without_the_key_the_signer_is_unknown",
        f"{_C}receipt_commands.py::test_a_file_that_cannot_be_read_is_an_error_and_no_signer_unknown",
        f"{_C}receipt_commands.py::test_the_secret_and_the_owner_match_the_receipt",
    ),
    "Find out who asks": LEAD,
    "A copy of the rows without keys": (
        f"{_B}a_copy_of_the_rows_holds_no_key_and_no_secret",
        f"{_S}an_old_copy_of_the_rows_cannot_be_read_for_forgotten_ones",
    ),
    "Stop the process that has": ADVICE,
    "`efface store restore orders --from monday`": (
        f"{_C}store_copies.py::test_rows_are_restored_once_the_counts_are_confirmed",
    ),
    "It changes nothing before you agree.": (
        f"{_C}store_copies.py::test_rows_are_restored_once_the_counts_are_confirmed",
    ),
    "Open the store, run": ADVICE,
    "Ids that left in the last seven days": (
        f"{_B}a_relearn_after_a_restore_does_not_bring_the_forgotten_back",
    ),
    "Rows without ids of their own": LIMIT,
    "`backup` does not stop the store": (
        f"{_D}a_copy_that_is_made_under_load_is_of_one_moment",
        f"{_D}rows_that_were_copied_under_load_are_restored_without_the_forgotten",
    ),
    "A running service writes one": (
        f"{_V}client.py::test_a_model_is_removed_and_a_copy_written_through_a_service",
    ),
    "`efface store backup http": (
        f"{_V}client.py::test_a_model_is_removed_and_a_copy_written_through_a_service",
    ),
    '`store.remove("demand")`': (
        f"{_D}a_model_is_removed_with_all_its_rows_and_keys",
        f"{_C}store_people.py::test_a_model_is_removed_once_that_is_confirmed",
    ),
    "That is no erasure request": (f"{_D}a_model_is_removed_with_all_its_rows_and_keys",),
    "Losing `keys/` loses all rows.": LIMIT,
    "A mirror on another disk prevents that": (
        f"{_M}keys_are_written_to_and_destroyed_in_the_mirror",
        f"{_M}a_mirror_is_synced_before_the_receipt",
    ),
    "`efface store restore orders --mirror DIR`": (
        f"{_C}store_copies.py::test_the_keys_are_mirrored_and_restored_from_the_mirror",
    ),
    "A store whose mirror is missing": (f"{_M}a_mirror_follows_another_master_key_and_can_stop",),
    "The mirror has all of `keys/`": (
        "store/test_left_ids.py::test_ids_that_left_are_mirrored_and_survive_a_rotation",
        f"{_E}it_follows_receipts_keys_and_tokens",
    ),
    "The master key seals the secrets": (f"{_E}secrets_are_sealed_under_the_master_key",),
    "A copy with keys (": ADVICE,
    "It can be read, also for rows": LIMIT,
    "A store that was made with `destroyed=`": (
        f"{_B}a_whole_copy_needs_the_destroyed_numbers",
        f"{_B}a_log_of_destroyed_numbers_is_checked",
    ),
    "Ids that left after such a copy": LIMIT,
    "A restored copy is another instance": (f"{_B}a_drill_leaves_production_alone",),
    "The mirror, the anchor and the log": (
        "store/test_external_files.py::test_a_log_belongs_to_one_instance",
        "store/test_external_files.py::test_a_mirror_belongs_to_one_instance",
        f"{_B}what_is_elsewhere_is_locked",
        f"{_B}a_drill_leaves_production_alone",
    ),
    "A folder that was copied by hand": (
        f"{_B}a_folder_copy_is_refused_before_anything_is_written",
    ),
    "No copy holds the address": (f"{_B}a_copy_has_no_address_and_no_password",),
    "An anchor or a log that is missing": (
        "store/test_disk.py::test_an_anchor_that_was_deleted_or_emptied_is_not_accepted",
        f"{_C}store_copies.py::test_files_elsewhere_are_named_and_given_up",
    ),
    "A copy, and everything else that holds keys": (_KILLS,),
    "Opening the store overwrites": (
        _KILLS,
        f"{_K}unknown_names_fail_an_audit_and_are_overwritten_at_open",
    ),
    "Then `audit` fails": (f"{_K}unknown_names_fail_an_audit_and_are_overwritten_at_open",),
    "A second host goes on within seconds": (_SECOND,),
    "It needs three parts that exist": LEAD,
    "Rows in PostgreSQL with a **synchronous**": (
        _SECOND,
        f"{_T}a_commit_that_its_standby_may_lack_is_not_acknowledged",
    ),
    "A mirror of the keys on a disk": LEAD,
    "Where it crosses a network": (
        "store/test_file_systems.py::test_unsafe_storage_needs_a_master_key",
    ),
    "The master key, on both hosts.": LEAD,
    "The second process waits.": (_SECOND,),
    "The owner of a store holds a lock": (f"{_T}a_standby_waits_while_the_owner_is_connected",),
    "Once the database takes writes": (
        _SECOND,
        f"{_T}a_standby_waits_while_the_owner_is_connected",
    ),
    "A database that cannot be reached": (_SECOND,),
    "The steps of a takeover": (f"{_T}the_commands_take_over_and_retire",),
    "**Promote** the standby": ADVICE,
    "**Take the fence**": (
        f"{_T}the_earlier_folder_cannot_be_opened_or_restored_and_can_be_retired",
    ),
    "From here on the first can commit nothing": (
        f"{_T}an_owner_that_lives_is_not_replaced_unless_forced_and_cannot_commit_then",
        f"{_T}keys_that_the_earlier_owner_writes_late_do_no_harm",
    ),
    "**Copy** the mirror": (
        f"{_T}another_folder_goes_on_from_the_mirror",
        f"{_T}a_takeover_that_is_interrupted_is_repeated",
    ),
    "**Serve**.": (_SECOND,),
    "Opening finishes what was under way": (_CRASHES,),
    "What was acknowledged is there": (_SECOND, f"{_T}another_folder_goes_on_from_the_mirror"),
    "What was forgotten is not.": (_SECOND,),
    "An owner that is connected": (
        f"{_T}an_owner_that_lives_is_not_replaced_unless_forced_and_cannot_commit_then",
    ),
    "Then repair the pair.": ADVICE,
    "The old folder cannot be opened": (
        f"{_T}the_earlier_folder_cannot_be_opened_or_restored_and_can_be_retired",
        "store/test_rotation.py::test_an_old_copy_of_the_keys_fails_after_rotation",
    ),
    "Give the second a mirror": ADVICE,
    "An anchor and a log of destroyed numbers belong": ADVICE,
    "If only the database fails over": (f"{_T}the_first_goes_on_if_only_its_database_fails_over",),
    "A mirror that cannot be written stops": (f"{_T}a_mirror_that_is_gone_stops_the_store",),
    "A commit whose wait for the standby": (
        f"{_T}a_commit_that_its_standby_may_lack_is_not_acknowledged",
    ),
    "Connect to PostgreSQL itself": ADVICE,
    "Rotate the master key with the next": ADVICE,
    "All live rows of a store are in the memory": (
        "store/test_opening.py::test_the_memory_and_the_disk_of_a_row_are_those_of_the_page",
    ),
    "Ten million such rows take up to 10 GB.": (
        "store/test_opening.py::test_the_memory_and_the_disk_of_a_row_are_those_of_the_page",
    ),
    "Opening reads them all": "measured by `python -m benchmarks store`",
    "What does not fit cannot be learned": LIMIT,
    "Before that:": LEAD,
    "a window or an end": (f"{_V}operation_routes.py::test_metrics_count_what_happened",),
    "models that share no rows": ADVICE,
    "beyond one machine": LEAD,
    "`efface.spark` has one model per key": LEAD,
    "Its erasures are events": LIMIT,
    "A master key of 32 random bytes": (
        "store/test_master_key.py::test_keys_are_wrapped_apart_and_come_back",
    ),
    "It comes from a file, a command": (
        "store/test_master_key.py::test_it_comes_from_a_file_a_command_or_a_credential",
    ),
    "After `rotate`, destroy the old": (
        "store/test_rotation.py::test_an_old_copy_of_the_keys_fails_after_rotation",
    ),
    "`efface store rotate --signing-key`": (
        f"{_C}store_copies.py::test_the_signing_key_is_changed_and_the_record_published",
    ),
    "The change is a record of the chain": (
        "store/test_receipts.py::test_a_change_of_the_signing_key_is_signed_by_both",
    ),
    "Publish the record": (
        f"{_C}receipt_commands.py::"
        "test_a_receipt_of_an_earlier_key_verifies_with_the_record_of_its_change",
    ),
    "The last line is why": LIMIT,
    "A receipt proves who stated what": (
        "store/test_receipts.py::test_altered_receipts_do_not_verify",
        "store/test_receipts.py::test_a_forged_key_is_seen_by_who_knows_the_real_one",
    ),
    "It does not prove that keys": LIMIT,
    "A chain that was cut": ("store/test_disk.py::test_a_chain_behind_its_anchor_is_refused",),
    "Also not covered: storage": LIMIT,
    "Overwriting in place leaves no key": (
        f"{_S}the_raw_disk_holds_no_destroyed_key",
        "store/test_file_systems.py::test_the_file_system_of_a_folder_and_its_fault",
        "store/test_file_systems.py::"
        "test_a_journal_that_the_superblock_asks_for_is_seen_everywhere",
        "store/test_file_systems.py::test_the_attribute_of_a_folder_is_seen",
    ),
    "The controller of a solid-state disk": LIMIT,
    "A body is a nonce": (
        "store/test_row_cipher.py::test_rows_have_consecutive_numbers_and_decrypt",
    ),
    "The associated data are": (
        "store/test_row_cipher.py::test_another_store_number_model_or_key_reads_nothing",
    ),
    "The plaintext is described": (
        "store/test_row_format.py::test_a_short_row_is_padded_to_whole_blocks",
        "store/test_row_format.py::test_rows_of_one_batch_are_padded_alike",
    ),
    "Folders have mode 0700": (
        "store/test_layout.py::test_folders_and_files_are_their_owners_alone",
    ),
    "Rows can be in PostgreSQL instead": (f"{_P}a_store_works_as_with_a_file_and_opens_again",),
    '`Store("orders", rows=': LEAD,
    "Every transaction is fenced": (
        f"{_P}a_transaction_of_a_killed_client_cannot_commit_after_open_has_looked",
    ),
    "The rows name the instance": (
        f"{_T}the_earlier_folder_cannot_be_opened_or_restored_and_can_be_retired",
    ),
    "A server with `fsync=off`": (f"{_P}a_server_without_durable_commits_is_refused",),
    "Asynchronous replication can lose": (f"{_P}an_older_database_is_refused_and_keys_stay",),
    "A change is a list of steps": (_CRASHES,),
    "Learn: keys are written": (
        _CRASHES,
        "store/test_steps.py::test_the_simulation_sees_keys_that_are_not_synced",
    ),
    "A commit of a few rows draws": (f"{_W}most_single_rows_need_one_sync",),
    "A commit that adds rows": (
        f"{_W}rows_alone_are_committed_without_a_record_and_tell_the_state",
    ),
    "A key is used for one encryption": (
        f"{_W}keys_of_rows_that_were_not_committed_encrypt_nothing_else",
    ),
    "Closing, `audit`, `backup`": (
        f"{_W}a_closed_store_has_the_keys_of_its_rows_alone",
        f"{_W}keys_drawn_ahead_are_destroyed_after_a_crash_and_not_logged",
    ),
    "Forget: one transaction": (
        _CRASHES,
        "store/test_steps.py::test_the_simulation_sees_a_receipt_that_is_not_synced",
        "store/test_steps.py::test_the_simulation_sees_ids_that_are_not_written",
    ),
    "Opening finishes what notes say.": (
        f"{_S}no_file_holds_a_row_after_a_crash_in_the_midst_of_forget",
    ),
    "Rows and keys that do not belong": (
        f"{_S}an_old_copy_of_the_rows_in_its_place_is_refused_and_keys_stay",
    ),
    "The keys know the version": (f"{_W}an_older_database_that_lacks_rows_alone_is_refused",),
    "It is synced when keys": (f"{_W}an_older_database_that_lacks_rows_alone_is_refused",),
    "If someone puts an older": LIMIT,
    "A full disk refuses rows": (
        "store/test_condition.py::test_a_full_disk_refuses_rows_and_the_store_goes_on",
        "store/test_condition.py::test_a_service_on_a_full_disk_answers_507_to_rows_and_goes_on",
    ),
    "Predictions and access requests go on.": (
        "store/test_condition.py::test_a_service_on_a_full_disk_answers_507_to_rows_and_goes_on",
    ),
    "An erasure takes the space": (
        "store/test_condition.py::test_a_full_disk_refuses_rows_and_the_store_goes_on",
    ),
    "`store.state()` says": (
        "store/test_condition.py::test_a_write_that_hangs_is_seen_without_waiting_for_it",
    ),
    "While a write hangs": (
        "store/test_condition.py::test_a_frozen_disk_leaves_access_requests_and_predictions",
    ),
    "Any other error, as one of a sync": (
        f"{_W}after_any_other_failure_the_store_stops",
        "store/test_disk.py::test_every_sync_write_and_rename_may_fail",
    ),
    "The tests crash a simulated disk": (
        _CRASHES,
        _KILLS,
        "store/test_disk.py::test_damaged_files_give_an_error_or_right_results",
    ),
    "measures the store beside": LEAD,
}
